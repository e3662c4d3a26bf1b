"""Can people who stutter use it? A search for stuttered test cases, an oracle and the kinds of fault (ASTER)."""
