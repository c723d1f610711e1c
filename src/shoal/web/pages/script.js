// What runs in the browser: files are sent as they are, piece by piece; redrawn blocks keep focus and place; text is copied.
(() => {
  const $ = (id) => document.getElementById(id);
  const say = (text) => { const place = $('sent'); if (place) place.textContent = text; };
  const size = (n) => n < 1e6 ? Math.ceil(n / 1e3) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
  let request = null;
  const send = (file) => {
    if (request) return say('One file at a time: wait, or reload the page to stop.');
    const bar = $('bar');
    bar.hidden = false;
    request = new XMLHttpRequest();
    request.open('PUT', '/files/' + encodeURIComponent(file.name));
    request.setRequestHeader('X-Shoal', 'workbench');
    request.upload.onprogress = (event) => {
      bar.max = event.total; bar.value = event.loaded;
      say('Sending ' + file.name + ': ' + size(event.loaded) + ' of ' + size(event.total));
    };
    const stop = (text) => { request = null; bar.hidden = true; say(text); };
    request.onerror = () => stop('The file could not be read or sent. If it changed meanwhile, choose it again.');
    request.onload = () => {
      let words = {};
      try { words = JSON.parse(request.responseText); } catch { /* said below */ }
      if (words.next) { request = null; window.location.href = words.next; }
      else stop(words.problem || 'The workbench did not take the file (' + request.status + ').');
    };
    request.send(file);
  };
  window.addEventListener('beforeunload', (event) => { if (request) event.preventDefault(); }); // half a file is none
  document.addEventListener('change', (event) => {
    if (event.target.id === 'file' && event.target.files.length) send(event.target.files[0]);
  });
  const drop = (event) => event.target.closest && event.target.closest('.drop');
  document.addEventListener('dragover', (event) => { event.preventDefault(); drop(event)?.classList.add('over'); });
  document.addEventListener('dragleave', (event) => drop(event)?.classList.remove('over'));
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    const area = drop(event);
    if (!area) return;
    area.classList.remove('over');
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
  // A block that is drawn again is another one to the browser: what had the focus, was typed or scrolled to is put back.
  let last = null;
  const scrolled = new Map();
  const twin = (old) => [...document.querySelectorAll(old.tagName)].find((at) => ['id', 'name', 'href', 'aria-label', 'data-do', 'data-of']
    .every((key) => at.getAttribute(key) === old.getAttribute(key)) && (at.type !== 'radio' || at.value === old.value));
  const typing = (at) => at.value !== at.defaultValue && at.value !== at.entered;
  const refocus = () => {
    const old = last, found = twin(old), to = found && !found.disabled ? found : $('main');
    last = null;
    if (!to) return;
    if (to !== found) to.tabIndex = -1;
    to.focus({ preventScroll: true });
    if (to === found && to.tagName === 'SELECT' && performance.now() - pressed.time < 400) {
      try { to.showPicker(); } catch { /* it is shown by the next press */ }
    }
    if (to === found && /^(text|number)$/.test(old.type)) {
      if (typing(old)) { found.value = ''; found.value = old.value; } // the caret goes to the end
      else found.select();
    }
  };
  // A field that is left by a press elsewhere redraws blocks between the press and its end: the press counts all the same.
  let pressed = { at: null, time: 0 };
  document.addEventListener('pointerdown', (event) => {
    const found = event.target.closest && event.target.closest('a[href], button, label, summary');
    pressed = { at: (found && found.control) || found, x: event.clientX, y: event.clientY, time: performance.now() };
  }, true);
  document.addEventListener('pointerup', (event) => {
    const { at, x, y } = pressed;
    pressed = { at: null, time: pressed.time };
    if (!at || at.isConnected || Math.hypot(event.clientX - x, event.clientY - y) > 8) return;
    const found = twin(at);
    if (found && !found.disabled) found.click();
  }, true);
  const unfolded = new Set();
  document.addEventListener('toggle', ({ target }) => {
    if (target.isConnected) unfolded[target.open ? 'add' : 'delete'](target.firstElementChild.textContent);
  }, true);
  document.addEventListener('focusin', (event) => { last = event.target; });
  document.addEventListener('mousedown', (event) => {
    if (!event.target.closest('a, button, input, select, textarea, label, summary, [tabindex]')) last = null;
  });
  document.addEventListener('keydown', (event) => { if (event.key === 'Enter') event.target.entered = event.target.value; });
  document.addEventListener('scroll', ({ target }) => {
    if (target.matches && target.matches('.scroll')) scrolled.set(target.getAttribute('aria-label'), [target.scrollTop, target.scrollLeft]);
  }, true);
  document.addEventListener('click', (event) => {
    if (event.target.closest && event.target.closest('[data-do=page]')) scrolled.clear();
  }, true);
  new MutationObserver((changes) => {
    if (changes.some(({ addedNodes }) => addedNodes.length)) {
      for (const area of document.querySelectorAll('.scroll')) {
        const kept = scrolled.get(area.getAttribute('aria-label'));
        if (kept && !area.scrollTop && !area.scrollLeft) area.scrollTo(kept[1], kept[0]);
      }
      for (const fold of document.querySelectorAll('details:not([open])')) {
        if (unfolded.has(fold.firstElementChild.textContent)) fold.open = true;
      }
    }
    if (last && !last.isConnected && document.activeElement === document.body) refocus();
  }).observe(document.body, { childList: true, subtree: true });
  document.addEventListener('click', (event) => {
    const button = event.target.closest && event.target.closest('[data-copy]');
    if (!button) return;
    navigator.clipboard?.writeText($(button.dataset.copy).textContent).then(() => { button.textContent = 'Copied'; });
  });
})();
