/** Style of the page at /docs: readable on a phone, light and dark. */
export const docsStyle = `
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #30363d); --soft: light-dark(#f5f7fa, #161b22);
  --link: light-dark(#0a58ca, #6ea8fe); --quiet: light-dark(#57606a, #9aa4af); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 1rem; font: 1rem/1.55 system-ui, sans-serif;
  color: light-dark(#1f2328, #e6edf3); background: light-dark(#fff, #0d1117); overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 1rem 0 .2rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
p { margin: .4rem 0; }
a { color: var(--link); }
code { font: .9em ui-monospace, monospace; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: 0 .8rem; }
details[open] { padding-bottom: .8rem; }
summary { cursor: pointer; padding: .6rem 0; }
summary b { display: inline-block; min-width: 3.4rem; font: 700 .8rem ui-monospace, monospace; }
.quiet { color: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
nav { background: var(--soft); border-radius: .5rem; padding: .6rem .8rem; }
nav a { margin-right: .9rem; white-space: nowrap; }
`;
