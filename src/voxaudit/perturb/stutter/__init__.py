"""Five kinds of stuttering put into fluent speech, as measured or as ASTER has them, with the timings carried along."""
