// Pastes text into a code editor, which would indent what is typed. Takes (element, text); returns
// whether the editor has taken it.
(element, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const target = element.contains(document.activeElement) ? document.activeElement : element;
  return !target.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}
