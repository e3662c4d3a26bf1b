"""What each verdict means, and when not to trust it: a sentence or two per verdict."""

from __future__ import annotations

MEANING: dict[str, str] = {
    "disparity.gap": (
        "One group gets more errors per word than the other: the ratio of the rates in the table, not that of typical"
        " speakers. With about half an error per speaker it sees little. Do not trust it where groups differ in"
        " something that is not held fixed (rooms, microphones, texts)."
    ),
    "disparity.six": (
        "The same where gender, age, accent and three more are asked in one audit: any of the twelve gaps. Asking more"
        " costs power, not false alarms."
    ),
    "gate.group_ratio": (
        "The interval of one ratio leaves out 1, each recognizer by itself. The gate is more careful: its lower limit"
        " holds for all groups, recognizers and attributes together."
    ),
    "disparity.interaction": (
        "A disturbance multiplies one group's errors more than the other's, in the scenario named; all scenarios and"
        " recognizers are one family."
    ),
    "disparity.unexplained": (
        "A gap that is entirely due to the text is said to stay with text and recording held fixed. Do not trust it"
        " where texts differ in what was not measured: grammar, names, fillers."
    ),
    "disparity.unexplained_recording": (
        "The same of a gap that is entirely due to noisier recordings. Microphones and codecs are measured by bandwidth"
        " and clipping only."
    ),
    "disparity.explained": (
        "A gap of the speakers themselves is said to be explained by what is said or by how it was recorded."
    ),
    "disparity.prompts": (
        "A gap is shown between groups that share a third of their 30 texts and differ in nothing but those. Where they"
        " share none, it is refused."
    ),
    "disparity.slope": (
        "Errors grow or fall with a number that has nothing to do with them. It is careful where a few speakers lie far"
        " out, and sees little there."
    ),
    "disparity.trend": "The same along a curve of 3 degrees: any trend, also one that turns.",
    "slices.confirmed": (
        "A kind of speech is confirmed to be served worse though nothing is: in any of the candidates that the search"
        " in the other half of the speakers picked."
    ),
    "keywords.group": (
        "A recognizer makes more errors that matter, or more errors on keywords, for one group than for another; both"
        " questions are one family."
    ),
    "keywords.most": (
        "The same of the share of utterances alone, where seven in eight have an error that matters and groups have the"
        " same share. What is planted multiplies the share of the others."
    ),
    "hallucination.group": (
        "A recognizer invents more words per minute for one group. Invented words come in stretches, in few utterances:"
        " it sees only large differences."
    ),
    "parity.pair": (
        "Two groups of an attribute differ in the mean of their speakers' rates, each speaker counting once"
        " (`disparity` compares rates of words). All attributes, recognizers and their mean are one family;"
        " attributes have equal shares. Where a few speakers make most of the errors, less is shown than by a"
        " test of log rates, which asks about typical speakers instead."
    ),
    "parity.conditional": (
        "The same with the other attributes held fixed. Strata without both groups say nothing: look at how many"
        " speakers were left."
    ),
    "parity.crossed": "A crossed group of five speakers and more differs from everybody else.",
    "parity.regression": (
        "An attribute matters in a regression of speakers' means on all attributes. Do not trust it where attributes"
        " go together so closely that the strata are nearly empty."
    ),
    "parity.together": (
        "Two attributes matter more (or less) together than each by itself. Where a crossed group has two or three"
        " speakers the degrees of freedom say so, and nothing can be shown. A family of its own."
    ),
    "parity.balance": (
        "Groups differ in the quality of their recordings or in their texts, so that a gap may come from that. No"
        " caution does not mean that there is no difference."
    ),
    "parity.alike": (
        "The whole interval of the difference lies within the gap asked about. With a small gap and few speakers it"
        " is never said: that is no sign of a gap."
    ),
    "parity.canary": (
        "Neighboring ages of adults differ, which they hardly should: a sign of an unbalanced corpus rather than of"
        " an unfair recognizer."
    ),
    "robustness.group_overall": (
        "Over all disturbances one group gets a different error rate (LWERR). It includes a gap that clean speech has"
        " already; `change` tells them apart. It is asked first, with four fifths of the level."
    ),
    "robustness.group_category": (
        "The same within a category of disturbances, in one family with the scenarios: a fifth of the level is theirs,"
        " all of it once the means over all disturbances are shown."
    ),
    "robustness.group_scenario": "The same within a scenario, in that family: the weakest of the three.",
    "robustness.group_any": "Any of these: what an audit without a gap says at most one time in twenty.",
    "robustness.group_change": (
        "The ratio of the groups' error rates is another one under disturbance, taken over all, than on clean speech."
    ),
    "robustness.group_change_any": "The same overall, in a category or in a scenario.",
    "robustness.cost_overall": (
        "Disturbed speech has another error rate than clean speech. Every recognizer is asked by itself."
    ),
    "robustness.cost_category": (
        "The same for a category. Not corrected: with ten categories and two recognizers without any effect, one is"
        " shown on average."
    ),
    "robustness.trend": "The error rate grows (falls) with severity. Not corrected over perturbations.",
    "robustness.reversal": (
        "A harsher step has fewer errors than the milder one before it: usually a sign that severities are not in"
        " order. Corrected within a curve, not over curves."
    ),
    "robustness.ranking": (
        "A recognizer loses less by disturbance than another on the same speakers, all pairs at once. It says"
        " nothing about the error rate itself: one that is bad on clean speech can lose little."
    ),
    "robustness.correlate": (
        "A fact of recognizers goes with what disturbance costs them. Recognizers are the sample and are rarely a"
        " random one: never a cause."
    ),
    "gate.clean_lower": (
        "The gate fails only what is surely above the limit: with a limit at the true rate it should fail one time in"
        " forty."
    ),
    "gate.worst_lower": (
        "The scenario with the highest lower limit counts; the limits hold for all scenarios together, so that with"
        " many of them at the limit it fails no more often than one time in forty."
    ),
    "gate.clean_upper": (
        "The gate passes only what is surely below the limit. Speakers' error rates are skewed: where the hardest"
        " speakers are not in the sample the upper limit is still a little too low, all the more where they differ"
        " much."
    ),
    "gate.worst_upper": ("All scenarios have to be below, so that it is stricter than the one above."),
    "compare.change": (
        "A slice of the trials (all, a scenario, a group) changed from one run to another, all slices together."
        " Speakers are the sample: a change for one person's recordings only is not shown."
    ),
    "compare.worse": "The same for the worse; this is what fails a build.",
    "compare.worse_overall": (
        "All trials of a recognizer got worse: asked first, with four fifths of the level, so that a general regression"
        " does not drown among slices. Where one utterance decides it, the sentence says so."
    ),
    "versus.overall": (
        "One recognizer makes fewer errors than another on the same trials. Speakers are the sample; recognizers that"
        " are not shown to differ share a rank."
    ),
    "versus.any": "The same for all trials, clean or disturbed speech, a category or a group.",
    "stutter.shown": (
        "Stuttering costs a recognizer errors: p, corrected over recognizers, is at most 0.05. A few utterances with a"
        " hundred made-up words do not decide it: the one fluent hearing might have been any of the stuttered ones."
    ),
    "stutter.change": (
        "Stuttering changes the error rate of the same recordings. The cases are chosen by a search for the"
        " suspicious: it speaks of these cases, not of how people who stutter speak."
    ),
    "stutter.kinds": (
        "Cases with one event of one kind cost more than those of another kind on the same recordings, all ten pairs of"
        " kinds together. Kinds differ in where they fall and how long they last as people's do."
    ),
    "stutter.recognizers": "One recognizer has more errors than another on the same stuttered cases.",
    "stutter.selections": (
        "The cases that the search kept have more errors than a draw of as many from all cases and the originals."
        " The search looks for such cases: it says that it finds them."
    ),
    "attack.cost": (
        "The chosen noise has another error rate than clean speech. With fewer than five speakers it is measured, and"
        " not claimed."
    ),
    "attack.over_noise": (
        "It costs more than plain noise as loud: only this says that the choice matters. An attack has seen the"
        " utterances it is scored on; a universal one has not."
    ),
    "differential.shown": (
        "Disturbed speech drives two recognizers further apart for one group, beyond the tolerance, or they are further"
        " apart on clean speech: all questions of an audit. Without references it cannot say which recognizer is wrong."
    ),
    "differential.clean": "On clean speech recognizers agree less about one group than about the other.",
    "differential.better": (
        "The group that starts with fewer lost words is named as the one hurt, though disturbance takes the same share"
        " of what is left from both: a false claim that comes from the other group having no room left."
    ),
    "differential.worse": (
        "The group that starts with more lost words is named. Where disturbance takes the same share from both it is"
        " false as well; where it takes more from this group, it is what should be found."
    ),
    "localize.word": (
        "A word gets lost more than the words beside it. What a speaker's occurrences of it are worth is estimated from"
        " how much they are lost together. Rare words are hardly ever shown: silence is no sign of robust words."
    ),
    "localize.sound": "The same for phonemes of lost words; a sound is blamed for its word.",
    "localize.word_group": (
        "One group loses a word more than the others do. Groups that say a word in other places or"
        " sentences may lose it for that."
    ),
    "waiting.groups": (
        "People of one group wait longer, per answer or per second of audio (means; a trial without an answer counts"
        " as the longest). Longer utterances take longer: the second measure allows for that."
    ),
    "confidence.groups": (
        "A recognizer vouches more for each right word of one group, sends more of its right words to a person, or lets"
        " more of its wrong ones through. Groups that are heard worse differ in the last two where the first is alike."
    ),
    "localize.validated": (
        "Words that were called non-robust are missed more often in new sentences, words being the sample."
    ),
    "localize.fisher": (
        "The published test counts sentences as independent, though six of them share a word. Read the interval by"
        " word."
    ),
    "study.realism": (
        "People find the real recording more (or less) often than by chance, participants being the sample: it"
        " speaks of these pairs of recordings, not of all that the generator could make."
    ),
    "study.scores": (
        "Real recordings are taken for real more (or less) often than generated ones, pairs of recordings being the"
        " sample. (The published test takes the two scores of a pair for independent and alarms in 18 to 20 %.)"
    ),
    "study.pair": "One pair is told apart. Not corrected over pairs: of twenty one is by chance.",
    "study.drop": "People rate the strongest setting lower than the mildest, participants being the sample.",
    "review.kappa": (
        "Reviewers agree more than by chance. It does not say that they are right; with few cases in one of the"
        " labels the interval is a guess."
    ),
    "sequential.shown": (
        "A gap between groups, shown while listening went on. Groups with very unlike spreads raise it, as they do a"
        " t test (see [sequential](sequential.md))."
    ),
    "sequential.alike": (
        "The gap is within the margin. Hard to show: it needs a hundred speakers per group at usual spreads."
    ),
    "breaking.difference": (
        "One group's speech breaks at a milder disturbance. Speakers beyond the range count as at its end. All"
        " comparisons of an audit are one family."
    ),
}
"""Verdict to what it means and when not to trust it."""
