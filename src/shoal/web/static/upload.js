// A file is sent as it is, piece by piece, with a bar; half a file is none. Several at once are linked tables: each is
// sent, then all are opened together.

const size = (n) => n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : `${(n / 1e6).toFixed(1)} MB`;

const sendOne = (file, address, progress) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open('PUT', address);
  request.setRequestHeader('X-Shoal', 'workbench');
  request.upload.onprogress = (event) => progress(event.loaded, event.total);
  request.onerror = () => done({ problem: 'The file could not be read or sent. If it changed meanwhile, choose it again.' });
  request.onload = () => {
    try { done(JSON.parse(request.responseText)); } catch { done({ problem: `The workbench did not take the file (${request.status}).` }); }
  };
  request.send(file);
});

const inside = async (folder) => { // a browser gives a folder's files in several pieces
  const reader = folder.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
    if (!some.length) return found;
    found.push(...some.filter((entry) => entry.isFile && !entry.name.startsWith('.')));
  }
};

const filesOf = async (transfer) => {
  const given = [...transfer.files], entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return given;
  const all = (await Promise.all(entries.map((entry) => entry.isDirectory ? inside(entry) : [entry]))).flat();
  return Promise.all(all.map((entry) => new Promise((done, failed) => { entry.file(done, failed); })));
};

export const watchFiles = (say) => {
  const bar = document.getElementById('bar'), sent = document.getElementById('sent');
  if (!bar) return;
  const most = Number(bar.dataset.most);
  let sending = false;

  const newMark = () => crypto.getRandomValues(new Uint32Array(2)).reduce((text, n) => text + n.toString(16).padStart(8, '0'), '');
  const sendBook = async (book) => { // before its file, which then names it by the mark
    const mark = newMark(), words = await sendOne(book, `/codebooks/${encodeURIComponent(book.name)}?mark=${mark}`, () => {});
    return { ...words, mark };
  };

  const sendAll = async (files) => {
    const book = document.getElementById('codebook')?.files[0];
    const beside = book ? await sendBook(book) : {};
    if (beside.problem) return beside;
    const together = files.length > 1 ? newMark() : '';
    const drop = () => fetch(`/files?together=${together}`, { method: 'DELETE', headers: { 'X-Shoal': 'workbench' }, keepalive: true });
    if (together) window.addEventListener('pagehide', drop); // left between two files: what came of them goes
    for (const file of files) {
      const asked = together ? `?together=${together}` : beside.mark ? `?codebook=${beside.mark}` : '';
      const address = `/files/${encodeURIComponent(file.name)}${asked}`;
      const words = await sendOne(file, address, (done, total) => {
        bar.max = total; bar.value = done;
        sent.textContent = `Sending ${file.name}: ${size(done)} of ${size(total)}`;
      });
      if (words.problem && together) drop();
      if (words.problem || words.next) return words;
    }
    window.removeEventListener('pagehide', drop);
    return (await fetch(`/files?together=${together}`, { method: 'POST', headers: { 'X-Shoal': 'workbench' } })).json();
  };

  const send = async (files) => {
    if (!files.length) return;
    if (sending) { say('Wait until what is being sent has arrived, or reload the page to stop.'); return; }
    const large = files.find((file) => file.size > most);
    if (large) { say(`${large.name} has ${size(large.size)}; at most ${size(most)} can be uploaded. Open it by its path, or start with --upload-limit.`); return; }
    if (files.length > 1 && document.getElementById('codebook')?.files.length) { say('codebook: must be omitted with linked tables. Propose one table at a time with it.'); return; }
    say('');
    sending = true;
    bar.hidden = false;
    const words = await sendAll(files).catch(() => ({ problem: 'The files could not be sent.' }));
    sending = false;
    if (words.next) { location.assign(words.next); return; }
    bar.hidden = true;
    sent.textContent = '';
    say(words.problem || 'The workbench did not take the files.');
  };

  window.addEventListener('beforeunload', (event) => { if (sending) event.preventDefault(); });
  document.addEventListener('change', ({ target }) => { if (target.id === 'file') send([...target.files]); });
  const area = document.querySelector('.drop');
  document.addEventListener('dragover', (event) => { event.preventDefault(); area.classList.add('over'); });
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) area.classList.remove('over'); });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    area.classList.remove('over');
    filesOf(event.dataTransfer).then(send, () => say('The folder could not be read. Choose its files instead.'));
  });
};
