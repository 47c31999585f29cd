// Pastes text into a code editor, which would indent typed text. Takes (element, text); returns
// whether the editor has accepted it.
(element, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const target = element.contains(document.activeElement) ? document.activeElement : element;
  return !target.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}
