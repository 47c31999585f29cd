// Puts the cursor into a code editor. Takes its element.
(element) => (element.querySelector("textarea, [contenteditable=true], .native-edit-context") || element).focus()
