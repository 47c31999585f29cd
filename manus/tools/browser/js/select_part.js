// Selects the only occurrence of a text in a field; any run of whitespace equals any other.
// Takes (element, text); returns the number of occurrences. Selects nothing unless it is 1.
(element, text) => {
  const squashed = (source) => source.replace(/\s+/g, " ").trim();
  const isSpace = (character) => /\s/.test(character);
  const isBlock = (node) => node.nodeType === Node.ELEMENT_NODE && (node.tagName === "BR" || !/^(inline|contents)/.test(getComputedStyle(node).display));
  const characters = []; // of the field, with whitespace collapsed: {character, node, offset}
  const add = (character, node, offset) => {
    const last = characters.at(-1);
    if (!isSpace(character)) characters.push({ character, node, offset });
    else if (last && last.character !== " ") characters.push({ character: " ", node, offset });
  };
  const collect = (node) => {
    if (node.nodeType === Node.TEXT_NODE) for (let i = 0; i < node.data.length; i++) add(node.data[i], node, i);
    if (isBlock(node)) add("\n", null, 0);
    for (const child of node.childNodes) collect(child);
    if (isBlock(node)) add("\n", null, 0);
  };
  if ("value" in element) for (let i = 0; i < element.value.length; i++) add(element.value[i], element, i);
  else collect(element);
  const wanted = squashed(text);
  const whole = characters.map((one) => one.character).join("");
  const positions = [];
  for (let at = whole.indexOf(wanted); wanted && at >= 0; at = whole.indexOf(wanted, at + 1)) positions.push(at);
  if (positions.length !== 1) return positions.length;
  const first = characters[positions[0]], last = characters[positions[0] + wanted.length - 1];
  element.focus();
  if ("value" in element) {
    element.setSelectionRange(first.offset, last.offset + 1);
  } else {
    const range = document.createRange();
    range.setStart(first.node, first.offset);
    range.setEnd(last.node, last.offset + 1);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }
  return 1;
}
