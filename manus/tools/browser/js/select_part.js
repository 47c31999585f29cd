// Selects the text that matches a pattern in a contenteditable element, in which line breaks are
// blocks; it begins and ends with other characters. Takes (element, pattern); returns the number of matches. Selects nothing unless it is 1.
(element, pattern) => {
  const isSpace = (character) => /\s/.test(character);
  const isBlock = (node) => node.nodeType === Node.ELEMENT_NODE && (node.tagName === "BR" || !/^(inline|contents)/.test(getComputedStyle(node).display));
  const characters = []; // of the element, with white space collapsed: {character, node, offset}
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
  collect(element);
  const matches = [...characters.map((one) => one.character).join("").matchAll(new RegExp(pattern, "g"))];
  if (matches.length !== 1) return matches.length;
  const start = matches[0].index, end = start + matches[0][0].length;
  const first = characters[start], last = characters[end - 1];
  element.focus();
  const range = document.createRange();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset + 1);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return 1;
}
