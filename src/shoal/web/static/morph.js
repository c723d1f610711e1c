// Make one tree like another with as few changes as can be: what has the focus, was typed, unfolded or scrolled stays.

const keyOf = (node) => {
  if (node.nodeType !== 1) return '';
  if (node.id) return `#${node.id}`;
  if (node.dataset.key) return node.dataset.key;
  const name = node.getAttribute('name');
  return name && node.type !== 'radio' ? `${node.tagName} ${name}` : '';
};

export const morph = (now, next) => {
  attributes(now, next);
  children(now, next);
  control(now, next);
};

const attributes = (now, next) => {
  for (const { name, value } of [...next.attributes]) {
    if (now.getAttribute(name) !== value && !(name === 'open' && now.tagName === 'DETAILS')) now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name) && !(name === 'open' && /DETAILS|DIALOG/.test(now.tagName))) now.removeAttribute(name);
  }
};

const fits = (node, child) => node && node.nodeType === child.nodeType && node.nodeName === child.nodeName;

const children = (now, next) => {
  const keyed = new Map([...now.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let at = now.firstChild;
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    const found = key ? keyed.get(key) : at && !keyOf(at) && fits(at, child) ? at : null;
    if (!found || !fits(found, child)) { now.insertBefore(document.importNode(child, true), at); continue; }
    if (found === at) at = at.nextSibling; else now.insertBefore(found, at);
    if (found.nodeType === 1) morph(found, child);
    else if (found.data !== child.data) found.data = child.data;
  }
  while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
};

const control = (now, next) => {
  if (now.dataset?.select !== undefined || now.dataset?.all !== undefined) return; // what is selected is the visitor's
  if (now.typing) return;
  if (now.tagName === 'INPUT' && /checkbox|radio/.test(now.type)) now.checked = next.hasAttribute('checked');
  else if (now.tagName === 'SELECT' && now.multiple) [...now.options].forEach((option, i) => { option.selected = next.options[i]?.hasAttribute('selected'); });
  else if (now.tagName === 'SELECT') { if (now.value !== next.value) now.value = next.value; }
  else if (/INPUT|TEXTAREA/.test(now.tagName) && now.type !== 'file') {
    const value = now.tagName === 'INPUT' ? next.getAttribute('value') ?? '' : next.textContent;
    if (now.value !== value) now.value = value;
  }
};
