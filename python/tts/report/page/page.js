// Tooltips, the moments of the timeline with their tensors, and players; the page reads well without.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const make = (name, cls, text) => {
    const element = document.createElement(name);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const between = (value, low, high) => Math.min(high, Math.max(low, value));
  const bytes = (value) => {
    const [unit, size] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]].find(([, s]) => value >= s) || ["B", 1];
    return `${unit === "B" ? value : +(value / size).toPrecision(4)} ${unit}`;
  };
  const number = (value) =>
    value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential(2)
      : Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en").replaceAll(",", "\u202f")
        : String(+value.toPrecision(4));

  // A cursor over a chart: pointer, touch and arrow keys move it; show(fraction) fills the tip.
  function explore(area, columns, show, choose) {
    const cursor = area.appendChild(make("div", "cursor"));
    const tip = area.appendChild(make("div", "tip"));
    tip.setAttribute("role", "status");
    let at = 0, height = 0.5;
    const hide = () => {
      cursor.hidden = tip.hidden = true;
      all(".mark", area).forEach((mark) => mark.remove());
    };
    const move = (column) => {
      at = between(column, 0, columns - 1);
      all(".mark", area).forEach((mark) => mark.remove());
      const x = show(at, tip, height);
      cursor.hidden = tip.hidden = false;
      cursor.style.left = `${100 * x}%`;
      const width = area.clientWidth, place = x * width, own = tip.offsetWidth;
      tip.style.left = `${between(place + 14 + own > width ? place - own - 14 : place + 14, 0, width)}px`;
    };
    const fraction = (event) => {
      const frame = area.getBoundingClientRect();
      return between((event.clientX - frame.left) / frame.width, 0, 1);
    };
    const column = (event) => {
      const frame = area.getBoundingClientRect();
      height = 1 - between((event.clientY - frame.top) / frame.height, 0, 1);
      return Math.min(columns - 1, Math.floor(fraction(event) * columns));
    };
    area.addEventListener("pointermove", (event) => move(column(event)));
    area.addEventListener("pointerdown", (event) => move(column(event)));
    area.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
    area.addEventListener("blur", hide);
    area.addEventListener("click", (event) => choose && choose(column(event)));
    area.addEventListener("keydown", (event) => {
      const step = Math.max(1, Math.round(columns / 50)) * (event.shiftKey ? 5 : 1);
      if (event.key === "ArrowLeft") move(at - step);
      else if (event.key === "ArrowRight") move(at + step);
      else if (event.key === "Escape") hide();
      else if (event.key === "Enter" && choose) choose(at);
      else return;
      event.preventDefault();
    });
    document.addEventListener("pointerdown", (event) => area.contains(event.target) || hide());
    hide();
  }

  const tipRow = (cls, name, value) => {
    const row = make("div"), label = make("span");
    if (cls) label.append(make("i", `key ${cls}`));
    label.append(name);
    row.append(label, make("b", "", value));
    return row;
  };

  function lineChart(figure) {
    const data = JSON.parse(figure.querySelector(".chart-data").textContent);
    const area = figure.querySelector(".area"), width = data.last - data.first;
    const nearest = (line, step) => {
      let low = 0, high = line.x.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (line.x[middle] < step) low = middle + 1; else high = middle;
      }
      return low > 0 && step - line.x[low - 1] < line.x[low] - step ? low - 1 : low;
    };
    explore(area, 400, (column, tip) => {
      const dense = data.lines[0], index = nearest(dense, data.first + (width * column) / 399);
      const step = dense.x[index];
      tip.replaceChildren(make("b", "", `update ${number(step)}`));
      for (const line of data.lines) {
        const i = nearest(line, step);
        const name = line.x[i] === step ? line.name : `${line.name} at ${number(line.x[i])}`;
        tip.append(tipRow(`s-${line.colour}`, line.raw ? `${name}, mean` : name, number(line.v[i])));
        if (line.raw) tip.append(tipRow("", "this update", number(line.raw[i])));
        const mark = area.appendChild(make("u", `mark s-${line.colour}`));
        mark.style.left = `${(100 * (line.x[i] - data.first)) / width}%`;
        mark.style.bottom = `${100 * line.y[i]}%`;
      }
      return (step - data.first) / width;
    });
  }

  function timeline(root, data) {
    const { strings, buffers, views, spans } = data;
    const count = buffers.name.length;
    const liveAt = (position) => {
      const found = [];
      for (let b = 0; b < count; b++)
        if (buffers.begin[b] < 0 || (buffers.begin[b] <= position && position <= buffers.end[b])) found.push(b);
      return found.sort((a, b) => buffers.size[b] - buffers.size[a] || buffers.begin[b] - buffers.begin[a]);
    };
    const where = (position) => {
      const span = spans.find(([, begin, end]) => begin <= position && position < end);
      return span ? `${span[0]}, entry ${position - span[1] + 1} of ${span[2] - span[1]}` : `position ${position}`;
    };
    const sum = (found) => found.reduce((total, b) => total + buffers.size[b], 0);
    const table = tensorTable(data, liveAt, where, sum);
    // Both pictures of a bucket mark the moment whose tensors are listed.
    const unpin = () => all(".pinned", root).forEach((mark) => mark.remove());
    const pin = (figure, fraction) => {
      unpin();
      for (const area of all(".area", figure.closest("[data-view]")))
        area.appendChild(make("div", "cursor pinned")).style.left = `${100 * fraction}%`;
    };

    for (const figure of all("[data-picture=live]", root)) {
      const positions = views[figure.closest("[data-view]").dataset.view], area = figure.querySelector(".area");
      const choose = (column) => {
        pin(figure, (column + 0.5) / positions.length);
        table.show(positions[column]);
      };
      explore(area, positions.length, (column, tip) => {
        const found = liveAt(positions[column]), kinds = new Map();
        for (const b of found) {
          const kind = strings[buffers.kind[b]];
          kinds.set(kind, (kinds.get(kind) || 0) + buffers.size[b]);
        }
        const passing = found.filter((b) => buffers.begin[b] >= 0);
        tip.replaceChildren(make("b", "", where(positions[column])), tipRow("", "live", bytes(sum(found))));
        for (const [kind, size] of [...kinds].sort((a, b) => b[1] - a[1]))
          if (size >= 1024) tip.append(tipRow(`c-${kind}`, kind.replaceAll("_", " "), bytes(size)));
        if (passing.length)
          tip.append(make("p", "", `largest passing: ${strings[buffers.name[passing[0]]]}`));
        return (column + 0.5) / positions.length;
      }, choose);
    }
    all("[data-picture=map]", root).forEach((figure) => arenaMap(figure, root, data, table, where, pin));
    const press = (button, group) =>
      group.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    const choices = all("[data-bucket]", root).filter((e) => e.tagName === "BUTTON");
    choices.forEach((button) => button.addEventListener("click", () => {
      press(button, choices);
      all("[data-view]", root).forEach((view) => (view.hidden = view.dataset.view !== button.dataset.bucket));
    }));
    const pressed = choices.find((button) => button.getAttribute("aria-pressed") === "true");
    if (pressed) pressed.parentElement.scrollLeft = pressed.offsetLeft - pressed.parentElement.offsetLeft - 16;
    const zooms = all("[data-zoom]", root);
    zooms.forEach((button) => button.addEventListener("click", () => {
      press(button, zooms);
      root.classList.toggle("part", button.dataset.zoom === "part");
      all("svg", root).forEach((svg) => svg.setAttribute("viewBox", svg.dataset[button.dataset.zoom]));
    }));
    byId("tensors-peak").addEventListener("click", () => {
      unpin();
      table.show(data.peak);
    });
  }

  // The map answers what lies under the pointer; choosing there shows the tensors of that moment.
  function arenaMap(figure, root, { strings, buffers, spans }, table, where, pin) {
    const area = figure.querySelector(".area"), { entries, first, top } = figure.dataset;
    const bucket = `[${figure.closest("[data-view]").dataset.view}]`;
    const own = spans.filter(([program]) => !program.includes("[") || program.endsWith(bucket));
    const position = (entry) => {
      for (const [, begin, end] of own) {
        if (entry < end - begin) return begin + entry;
        entry -= end - begin;
      }
      return own.at(-1)[2] - 1;
    };
    explore(area, +entries, (entry, tip, height) => {
      const at = position(entry), low = root.classList.contains("part") ? +first : 0;
      const offset = low + (+top - low) * height;
      const under = buffers.name.findIndex((_, b) =>
        buffers.offset[b] <= offset && offset < buffers.offset[b] + buffers.size[b] &&
        (buffers.begin[b] < 0 || (buffers.begin[b] <= at && at <= buffers.end[b])));
      tip.replaceChildren(make("b", "", where(at)));
      if (under < 0) {
        tip.append(tipRow("", "free here", ""));
      } else {
        tip.append(tipRow(`c-${strings[buffers.kind[under]]}`, strings[buffers.name[under]], bytes(buffers.size[under])));
        tip.append(tipRow("", "at offset", bytes(buffers.offset[under])), tipRow("", "lives in", strings[buffers.life[under]]));
      }
      return (entry + 0.5) / entries;
    }, (entry) => {
      pin(figure, (entry + 0.5) / entries);
      table.show(position(entry));
    });
  }

  function tensorTable({ strings, buffers, peak, rows }, liveAt, where, sum) {
    const kind = byId("tensors-kind"), name = byId("tensors-name"), everything = byId("tensors-all");
    let position = peak, limit = rows;
    const cell = (cls, text) => make("td", cls, text);
    const row = (b) => {
      const line = make("tr"), head = make("th"), kindName = strings[buffers.kind[b]];
      head.scope = "row";
      head.append(make("code", "", strings[buffers.name[b]]));
      const classCell = cell("kind", "");
      classCell.append(make("i", `key c-${kindName}`), kindName.replaceAll("_", " "));
      const size = cell("", bytes(buffers.size[b]));
      size.title = `${buffers.size[b].toLocaleString("en")} bytes`;
      line.append(head, cell("place", strings[buffers.place[b]]), classCell, cell("life", strings[buffers.life[b]]), size);
      return line;
    };
    const wanted = (b) =>
      (kind.value === "all" || (kind.value === "transient" ? buffers.begin[b] >= 0 : strings[buffers.kind[b]] === kind.value)) &&
      strings[buffers.name[b]].toLowerCase().includes(name.value.trim().toLowerCase());
    const draw = () => {
      const found = liveAt(position).filter(wanted), rest = found.slice(limit);
      byId("tensors-title").textContent = position === peak ? "Tensors at the peak" : "Tensors at this moment";
      byId("tensors-where").textContent = where(position);
      byId("tensors-bytes").textContent = bytes(sum(found));
      byId("tensors-count").textContent = `${found.length} tensors`;
      byId("tensors-peak").hidden = position === peak;
      byId("tensors-rows").replaceChildren(...found.slice(0, limit).map(row));
      byId("tensors-rest").textContent = rest.length ? `${rest.length} smaller ones` : "";
      byId("tensors-rest-bytes").textContent = rest.length ? bytes(sum(rest)) : "";
      everything.hidden = !rest.length;
    };
    kind.addEventListener("change", draw);
    name.addEventListener("input", draw);
    everything.addEventListener("click", () => { limit = Infinity; draw(); });
    return { show(at) { position = at; limit = rows; draw(); } };
  }

  function player(figure) {
    const audio = figure.querySelector("audio"), wave = figure.querySelector(".waveform");
    if (!wave) return;
    const draw = () => wave.style.setProperty("--played", `${(100 * audio.currentTime) / (audio.duration || 1)}%`);
    audio.addEventListener("timeupdate", draw);
    audio.addEventListener("play", () => all("audio").forEach((other) => other !== audio && other.pause()));
    wave.addEventListener("click", (event) => {
      const frame = wave.getBoundingClientRect();
      audio.currentTime = ((event.clientX - frame.left) / frame.width) * (audio.duration || 0);
      audio.play();
    });
  }

  all("figure.lines").forEach(lineChart);
  all("figure.player").forEach(player);
  const data = byId("timeline-data");
  if (data) timeline(byId("timeline"), JSON.parse(data.textContent));
})();
