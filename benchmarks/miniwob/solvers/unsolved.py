"""Pages without a solver, and failures that need an explanation."""

UNSOLVED = {
    "chase-circle": "the circle moves all the time, and an action takes longer than its way",
    "click-checkboxes-soft": "words of similar meaning have to be found: a model's work",
    "count-sides": "a polygon on a canvas, whose corners only a picture shows",
    "drag-cube": "a turned cube in perspective, which only a picture shows",
    "hover-shape": "the page never ends the episode, and so gives no reward",
    "moving-items": "the circles cross the page in 3.5 seconds, and the page wants ten of them",
    "number-checkboxes": "the shape of the digit is shown as a picture",
    "simon-says": "the buttons light up before the first look at the page",
}
"""Pages without a solver, and why."""

EXPLAINED = {
    "stock-market": "the price does not fall below the limit within the actions of an episode",
    "drag-items-grid": "an item that is dragged over two columns lands one place before its target",
}
"""Pages whose solver fails with some seeds, where the failure does not explain itself."""
