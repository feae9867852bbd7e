"""What is wrong with the descriptions of a roster, and what to write instead."""
