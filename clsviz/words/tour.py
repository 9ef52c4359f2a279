"""A tour: five steps on the main page, and one on each of the others."""

STEPS = (
    (
        "The answer",
        "The large sentence answers the question above it, for this model, these sentences and the settings below. "
        "The small line under it has the numbers; “Terms” says what its words mean.",
    ),
    (
        "A point",
        "Each point is a sentence: its length runs to the right, the norm of its vector upwards. Point at one to read "
        "it. Click one, or draw around several with the box or the lasso that appear above the picture, to list them "
        "below it.",
    ),
    (
        "The line and the curves",
        "The red line is the straight line that best predicts the norm from the length. The dark curves show what a "
        "line cannot: where 5%, half and 95% of the norms lie at each length. The buttons under the picture switch "
        "them on and off.",
    ),
    (
        "Layer, cutoff and vector",
        "These change the picture at once: after which layer of the model the norm is taken, up to which length "
        "sentences count, and which vector it is. Model and corpus are in the sidebar; they may have to be measured "
        "first.",
    ),
    (
        "Your own sentence, and the link",
        "Type a sentence, and a star shows where it lies. “Copy link” gives an address that opens this very picture; "
        "your sentence goes into it only if you tick the box.",
    ),
)
"""What each step on the main page is about, and what it says of it."""

PAGES = (
    (
        "Where length lives",
        "The same question, layer by layer: how many tokens a linear probe misses the length by when it reads the "
        "whole vector, and what the norm alone gives away.",
    ),
    (
        "Does length bend my search?",
        "Searches whose right texts are known: are texts of some lengths found more often than they are right? Under "
        "the verdict stands what to do.",
    ),
    (
        "Compare models",
        "Several models on the same sentences, at first the trained one next to the same architecture with random "
        "weights. Choose others in the sidebar.",
    ),
    (
        "Try a sentence",
        "Type one, or two to compare: how its norm grows word by word, and how it ranks among corpus sentences about "
        "as long.",
    ),
    (
        "Inside the model",
        "The norm of [CLS] at each step through the model, and which parts have the weights. That is the whole story.",
    ),
)
"""The same of the other pages, in the order of their story."""
