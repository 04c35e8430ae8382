// The page of a run. What comes from the run becomes text and nothing else: `append` makes text nodes of strings, and no
// string of it is a tag, an attribute but `title`, or code. Rows are made when they are scrolled to, their insides when
// they are unfolded.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const STEP = 60;
  const SPANS = 600;
  const rows = data.rows;

  const make = (tag, name, ...inside) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    node.append(...inside.filter((each) => each !== null && each !== undefined && each !== ""));
    return node;
  };
  const count = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
  const seconds = (time) => (time < 0.0995 ? `${(time * 1000).toFixed(1)} ms` : `${time.toFixed(time < 10 ? 2 : 1)} s`);
  const share = (part, whole) => `${Math.min(100, Math.max(0, (100 * part) / (whole || 1)))}%`;
  const facts = (pairs) => {
    const body = make("tbody", "");
    for (const [name, text] of pairs) {
      const head = make("th", "", name);
      head.scope = "row";
      body.append(make("tr", "", head, make("td", "", text)));
    }
    return make("table", "", body);
  };
  const scrolls = (node, name) => {
    // What scrolls can be reached with the keyboard.
    node.tabIndex = 0;
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", name);
    return node;
  };
  const block = (name, text) => [make("div", "kind", name), scrolls(make("pre", "", text), name)];
  const fold = (name, head, fill) => {
    const node = make("details", name, make("summary", "", ...head));
    node.addEventListener("toggle", () => {
      if (node.open && !node.dataset.full) {
        node.dataset.full = "1";
        node.append(...fill());
      }
    });
    return node;
  };
  const web = (text) => /^https?:\/\//.test(text);
  const link = (text) => {
    if (!web(text)) return text;
    const node = make("a", "", text);
    node.href = text;
    node.rel = "noopener noreferrer";
    return node;
  };

  // ---- The head: what was asked, what came of it, where the time went.
  const theme = make("button", "", "Light or dark");
  theme.type = "button";
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const figures = (told) => {
    const list = make("dl", "figures");
    for (const [name, text] of told) list.append(make("div", "", make("dt", "", name), make("dd", "", text)));
    return list;
  };
  document.title = `Run ${data.run}`;
  document.getElementById("head").append(
    make("div", "top", make("span", "", `Run ${data.run}`), theme),
    make("h1", "", data.prompt || "A run without a prompt"),
    figures(data.figures),
  );
  const main = document.getElementById("main");
  if (data.answer || data.message) {
    const words = [data.answer, data.message].filter(Boolean).join("\n\n");
    if (data.answer && !data.good) main.append(make("div", "warn", "A draft, which is no answer:"));
    main.append(scrolls(make("div", data.good ? "answer" : "answer open", words), "the answer"));
  }
  if (data.sources.length) {
    main.append(fold("part", [count(data.sources.length, "source")], () => data.sources.flatMap(([at, text]) => block(at, text))));
  }

  const lanes = () => {
    const box = make("div", "lanes");
    data.lanes.forEach((name, lane) => {
      const spans = [];
      rows.forEach((row, at) => {
        if (row.lane !== lane) return;
        if (row.took && row.kind === "round") spans.push([row.at, row.took, "", at]);
        for (const part of row.parts) if (part.kind === "call" && part.took) spans.push([part.at, part.took, "call", at]);
      });
      const track = make("div", "track");
      track.setAttribute("role", "img");
      track.setAttribute("aria-label", `${name}: ${count(spans.length, "request and call")}, over ${seconds(data.last)}`);
      const every = Math.ceil(spans.length / SPANS);
      for (let at = 0; at < spans.length; at += every) {
        const [from, , kind, row] = spans[at];
        const until = spans[Math.min(at + every, spans.length) - 1];
        const bar = make("i", every > 1 ? "" : kind);
        bar.style.left = share(from, data.last);
        bar.style.width = share(until[0] + until[1] - from, data.last);
        bar.dataset.row = row;
        track.append(bar);
      }
      track.addEventListener("click", (event) => event.target.dataset.row && jump(Number(event.target.dataset.row)));
      const label = make("span", "", name);
      label.title = name;
      box.append(label, track);
    });
    return box;
  };
  main.append(
    make("h2", "", "Timeline"),
    lanes(),
    make("div", "legend", `0 to ${seconds(data.last)}; above: the model, below: tools`),
  );

  // ---- Two runs.
  if (data.other) {
    const { other } = data;
    const table = make("table", "sides");
    const mine = new Map(data.figures);
    const theirs = new Map(other.figures);
    const line = (tag, cells) => make("tr", "", ...cells.map((text) => make(tag, "", String(text))));
    const named = [...new Set([...mine.keys(), ...theirs.keys()])];
    table.append(line("th", ["figure", data.run, other.run]));
    for (const name of named) table.append(line("td", [name, mine.get(name) ?? "", theirs.get(name) ?? ""]));
    main.append(make("h2", "", `Against run ${other.run}`), table);
    const where = other.parts
      ? `They part at event ${other.parts.seq}: ${other.parts.words}.`
      : "Both are the same, times aside.";
    main.append(make("p", "", where));
    if (other.parts) {
      const sides = other.parts.both.map((text, at) => make("div", "", ...block([data.run, other.run][at], text)));
      main.append(fold("part", ["What each has there"], () => [make("div", "both", ...sides)]));
    }
    const rounds = make("table", "sides", line("th", ["round", data.run, other.run]));
    for (const [number, left, right, same] of other.rounds) {
      const row = line("td", [number, left, same ? "the same" : right]);
      if (!same) row.firstChild.className = "warn";
      rounds.append(row);
    }
    main.append(fold("part", ["Round by round"], () => [rounds]));
  }

  // ---- The rows.
  const most = rows.reduce((top, row) => Math.max(top, row.took || 0), 0);
  const opened = (part) => part.pairs?.length || part.fields?.length || part.arguments || part.result;
  const inside = (part) => [
    ...(part.arguments ? block("arguments", part.arguments) : []),
    ...(part.result ? block("result", part.result) : []),
    ...(part.pairs?.length ? [facts(part.pairs.map(([name, text]) => [name, link(text)]))] : []),
    ...(part.fields?.length ? [facts(part.fields)] : []),
  ];
  const shownPart = (part) => {
    const head = [
      make("span", "kind", `${part.kind} `),
      make("b", "", part.title),
      " ",
      part.said || "",
      part.verdict ? make("span", part.tone || "good", ` ${part.verdict}`) : "",
      part.took ? make("span", "kind", ` ${seconds(part.took)}`) : "",
    ];
    if (part.tone && !part.verdict) head[1].className = part.tone;
    return opened(part) ? fold("part", head, () => inside(part)) : make("div", "part", ...head);
  };
  const figuresOf = (row) => {
    const told = [];
    if (row.tokens) {
      const [input, output, hit, wrote] = row.tokens;
      told.push(`${input.toLocaleString("en")} in`, `${output.toLocaleString("en")} out`);
      if (hit) told.push(`${hit.toLocaleString("en")} from the cache`);
      if (wrote) told.push(`${wrote.toLocaleString("en")} into the cache`);
      if (row.again) told.push(`${row.again.toLocaleString("en")} read again (${row.cache})`);
    }
    if (row.money) told.push(`money ${row.money}`);
    if (row.tries > 1) told.push(count(row.tries, "attempt"));
    return told;
  };
  const cached = (row) => [
    row.tokens?.[2] ? make("span", "good", `${row.tokens[2].toLocaleString("en")} cached `) : "",
    row.again ? make("span", "warn", `${row.again.toLocaleString("en")} missed`) : "",
  ];
  const does = (row) => {
    const calls = row.parts.filter((part) => part.kind === "call");
    const lines = [];
    if (row.text) lines.push(make("div", "", row.text.slice(0, 300)));
    for (const call of calls.slice(0, 4)) {
      const verdict = call.verdict && (call.tone || call.verdict !== "allow") ? make("span", call.tone || "good", ` ${call.verdict}`) : "";
      lines.push(make("div", "mono", `${call.title}(${call.said})`.slice(0, 300), verdict));
    }
    if (calls.length > 4) lines.push(make("div", "kind", count(calls.length - 4, "more call")));
    const other = row.parts.filter((part) => part.kind !== "call" && (part.kind !== "decision" || part.tone));
    for (const part of other.slice(0, 3)) lines.push(make("div", "", make("span", part.tone || "kind", part.said ? `${part.title}: ` : part.title), part.said || ""));
    if (other.length > 3) lines.push(make("div", "kind", `${other.length - 3} more`));
    return lines;
  };
  const shownRow = (at, open) => {
    const row = rows[at];
    const small = data.lanes.length > 1 ? make("small", "", data.lanes[row.lane]) : "";
    const bar = make("i", "");
    bar.style.width = share(row.took || 0, most);
    const told = figuresOf(row);
    const took = make("div", "took", make("div", "", row.took ? seconds(row.took) : ""));
    if (told.length) took.append(make("div", "", told.slice(0, 2).join(" / ")));
    if (row.tokens?.[2] || row.again || row.money) took.append(make("div", "", ...cached(row), row.money ? ` money ${row.money}` : ""));
    const head = [make("div", "name", row.title, small), make("div", "does", ...does(row)), took];
    if (row.took) head.push(make("div", "bar", bar));
    const node = fold("row", head, () => {
      const parts = row.parts.filter((part) => !kinds.size || kinds.has(part.kind));
      const about = [["begun", seconds(row.at)], ["model", row.model], ["why it stopped", row.stop], ["sent", row.messages && count(row.messages, "message")]];
      const said = [...about.filter(([, text]) => text).map(([name, text]) => `${name} ${text}`), ...told].join(" · ");
      const body = make("div", "", make("div", "kind", said));
      if (row.text && !kinds.size) body.append(...block("said", row.text));
      if (row.thought && !kinds.size) body.append(fold("part", [`reasoning, ${count(row.thought.length, "character")}`], () => block("reasoning", row.thought)));
      body.append(...parts.map(shownPart));
      return [body];
    });
    node.dataset.at = at;
    if (row.lane) node.classList.add("sub");
    if (open) node.open = true;
    return node;
  };

  const kinds = new Set();
  const texts = [];
  const textOf = (at) => (texts[at] ??= JSON.stringify(rows[at]).toLowerCase());
  let found = rows.map((_, at) => at);
  let shown = 0;
  const list = make("div", "");
  const more = make("button", "", "More");
  more.type = "button";
  const said = make("span", "hint");
  said.setAttribute("role", "status");
  const step = () => {
    const next = found.slice(shown, shown + STEP);
    shown += next.length;
    list.append(...next.map((at) => shownRow(at, kinds.size > 0)));
    more.hidden = shown >= found.length;
  };
  const jump = (at) => {
    const place = found.indexOf(at);
    while (shown <= place) step();
    const summary = list.children[place]?.firstChild;
    summary?.focus();
    summary?.scrollIntoView({ block: "center" });
  };
  const search = make("input", "");
  const again = () => {
    const words = JSON.stringify(search.value.trim().toLowerCase()).slice(1, -1);
    found = [];
    rows.forEach((row, at) => {
      if (kinds.size && !row.parts.some((part) => kinds.has(part.kind))) return;
      if (!words || textOf(at).includes(words)) found.push(at);
    });
    shown = 0;
    list.replaceChildren();
    step();
    said.textContent = found.length === rows.length ? count(rows.length, "row") : `${count(found.length, "row")} of ${rows.length.toLocaleString("en")}`;
  };
  const bench = make("div", "bench");
  search.type = "search";
  search.placeholder = "Search";
  search.setAttribute("aria-label", "Search in the run");
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(again, 120);
  });
  bench.append(search);
  const there = new Map();
  for (const row of rows) for (const part of row.parts) there.set(part.kind, (there.get(part.kind) || 0) + 1);
  for (const [kind, many] of [...there].sort((left, right) => right[1] - left[1])) {
    const chip = make("button", "", `${kind} ${many.toLocaleString("en")}`);
    chip.type = "button";
    chip.setAttribute("aria-pressed", "false");
    chip.addEventListener("click", () => {
      const on = !kinds.delete(kind) && Boolean(kinds.add(kind));
      chip.setAttribute("aria-pressed", String(on));
      again();
    });
    bench.append(chip);
  }
  const keys = make("div", "hint", make("kbd", "", "j"), " ", make("kbd", "", "k"), " next and last row, ", make("kbd", "", "Enter"), " unfold, ", make("kbd", "", "/"), " search");
  main.append(make("h2", "", "What happened"), bench, said, keys, list, more);
  more.addEventListener("click", step);
  new IntersectionObserver((seen) => seen[0].isIntersecting && step(), { rootMargin: "800px" }).observe(more);
  again();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
      if (event.key === "Escape") {
        search.value = "";
        again();
        list.querySelector("summary")?.focus();
      }
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
      return;
    }
    const way = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (!way || event.target.closest("pre, .answer")) return;
    const here = event.target.closest(".row");
    const place = here ? [...list.children].indexOf(here) + way : 0;
    if (place < 0 || place >= found.length) return;
    event.preventDefault();
    jump(found[place]);
  });
})();
