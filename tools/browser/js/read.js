// What a field holds after it was written to; null if that is nobody's business or not a field.
(element) => {
  if (element.type === "password") return { secret: true, length: element.value.length };
  if ("value" in element && typeof element.value === "string") return { value: element.value };
  if (element.isContentEditable) return { value: element.innerText };
  return null;
}
