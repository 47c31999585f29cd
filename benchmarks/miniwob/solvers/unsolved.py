"""Pages without a solver, and why."""

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
