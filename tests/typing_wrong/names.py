# Every line that is marked must be refused by both checkers: names that left the top are found there by programs alone.
import loopwright
from loopwright import count_tokens  # E it is of loopwright.tokens
from loopwright.tokens import TokenCounter

count_tokens("Hello")
loopwright.Signal()  # E it is of loopwright.run
loopwright.trace("runs.db")  # E it is of loopwright.journal
loopwright.no_such_name()  # E there is none
loopwright.replay("runs.db").identical.upper()  # E a bool has no upper
TokenCounter("gpt-4o").count("Hello").tokens.upper()  # E an int has no upper
