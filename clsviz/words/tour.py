"""A tour of the main page in five steps."""

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
"""What each step is about, and what it says of it."""
