// Shows the words of a mark at the pointer, and at the arrow keys; keeps only tables that scroll in the tab order.
(() => {
  "use strict";
  const REACH = 14;
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let lit = null, mouse = null;

  const hide = () => {
    lit?.classList.remove("on");
    lit = null;
    tip.textContent = "";
  };
  const show = (mark, x, y) => {
    if (!mark) return hide();
    if (mark !== lit) {
      hide();
      lit = mark;
      mark.classList.add("on");
      tip.textContent = mark.dataset.tip;
    }
    const box = tip.getBoundingClientRect();
    const right = document.documentElement.clientWidth - box.width - 8;
    tip.style.left = `${Math.max(8, Math.min(x + 14, right))}px`;
    tip.style.top = `${y > box.height + 20 ? y - box.height - 12 : y + 20}px`;
  };
  const away = (box, x, y) => Math.hypot(
    Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const nearest = (picture, marks, x, y) => {
    const under = document.elementFromPoint(x, y);
    if (!under || !picture.contains(under)) return null;
    const own = under.closest(".m");
    if (own) return own;
    let best = null, least = REACH;
    for (const mark of marks) {
      const distance = away(mark.getBoundingClientRect(), x, y);
      if (distance < least && !mark.hasAttribute("data-line")) [best, least] = [mark, distance];
    }
    return best;
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const read = (marks, at) => {
    const box = marks[at].getBoundingClientRect();
    show(marks[at], (box.left + box.right) / 2, Math.max(box.top, 60));
  };

  for (const picture of document.querySelectorAll("svg[role=img]")) {
    const marks = [...picture.querySelectorAll(".m")];
    if (!marks.length) continue;
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.dataset.tip = title.textContent;
      title.remove();
    }
    let at = 0;
    picture.tabIndex = 0;
    picture.setAttribute("aria-description", "The arrow keys read the values one by one.");
    const point = (x, y) => show(nearest(picture, marks, x, y), x, y);
    for (const kind of ["pointermove", "pointerdown"])
      picture.addEventListener(kind, ({ clientX, clientY, pointerType }) => {
        mouse = pointerType === "mouse" ? () => point(clientX, clientY) : null;
        point(clientX, clientY);
      });
    picture.addEventListener("pointerleave", () => {
      mouse = null;
      hide();
    });
    picture.addEventListener("blur", hide);
    picture.addEventListener("focus", () => picture.matches(":focus-visible") && read(marks, at));
    picture.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      at = Math.max(0, Math.min(marks.length - 1, at + steps[event.key]));
      read(marks, at);
    });
  }
  const reach = () => {
    for (const box of document.querySelectorAll(".scroll")) box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  };
  reach();
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  const follow = () => mouse ? mouse() : hide(); // the page moved: what lies under a still mouse is another mark, or none
  addEventListener("scroll", () => document.activeElement.matches("svg:focus-visible") || follow(), { passive: true });
})();
