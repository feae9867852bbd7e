"""``python -m router.service``: how a service is started in the background."""

from router.commands.serve import serve

serve(prog_name="skill-router serve")
