// The whole text of a field or of another element. Takes an element; needs naming.js.
(element) => {
  if (isEditor(element)) return codeOf(element);
  if ("value" in element) return String(element.value);
  return element.isContentEditable ? writtenText(element) : element.innerText ?? element.textContent;
}
