"""The local judge: dense and lexical signals, learned fusion, gate and fits; no network."""
