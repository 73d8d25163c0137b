"""The first lines of every command: until there is more to answer it, Ctrl-C ends it quietly.

What is imported from here on takes longer than the interpreter itself, and somebody who has typed
the wrong thing is quick.
"""

import signal

# whoever is started in the background may be meant not to hear it
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from robolin.cli.main import run as run
