() => {
  const contrast = (one) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const luminance = (color) => {
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
        .map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    let behind = one;
    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
    let opacity = 1;
    for (let up = one; up; up = up.parentElement) opacity *= getComputedStyle(up).opacity;
    const pair = [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor].map(luminance);
    return opacity < 1 ? 0 : (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  const texts = [...document.body.querySelectorAll("*")].filter((one) => one.checkVisibility({ opacityProperty: true })
    && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && !one.closest("script, svg, option"));
  const named = (one) => one.ariaLabel || one.labels?.length || one.textContent.trim();
  return {
    headings: document.querySelectorAll("h1").length,
    mains: document.querySelectorAll("main").length,
    nested: document.querySelectorAll("summary :is(a, button, input)").length,
    unnamed: [...document.querySelectorAll("button, select, textarea, input:not([hidden])")].filter((one) => !named(one)).length,
    outside: [...document.body.children].filter((one) => !one.matches("header, script") && !one.querySelector("main")).length,
    faint: texts.filter((one) => contrast(one) < 4.5).map((one) => one.outerHTML.slice(0, 90)),
  };
}
