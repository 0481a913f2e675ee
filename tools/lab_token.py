"""Who may use the JupyterLab that `make lab` opens: whoever has its token.

`make lab` names this class on the command line, which counts more than any file of
configuration. The token itself must not stand there, because every user of a machine
can read the command lines of all processes; and in the environment variable
JUPYTER_TOKEN it would be a default, which `~/.jupyter` can replace with none.
"""

import secrets

from jupyter_server.auth.identity import PasswordIdentityProvider
from traitlets import Bool, Unicode


class OwnToken(PasswordIdentityProvider):
    """A new token at each start; configuration can neither set nor remove it."""

    # Like those of the base class, but without `config=True`.
    token = Unicode()
    hashed_password = Unicode()
    password_required = Bool(False)

    def _token_default(self) -> str:
        self.token_generated = True  # so that it is part of the printed address
        return secrets.token_hex(24)
