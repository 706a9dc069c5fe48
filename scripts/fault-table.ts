import {
  limits,
  type Outcome,
  type Outcomes,
  outcomes,
  type Part,
  parts,
  type Use,
  uses,
} from '../tests/soak/faults/outcomes.ts';

/** How a part breaks, as the table says it. */
const faultWords = {
  refuses: 'refuses connections',
  hangs: 'hangs',
  resets: 'cuts its answers off',
  garbage: 'answers garbage',
  page: 'answers with a web page',
} as const;
type Fault = keyof typeof faultWords;
const faults = Object.keys(faultWords) as Fault[];

interface Row {
  part: string;
  faults: string;
  uses: string[];
  seen: string;
  stored: string;
  /** How long that takes where it takes a while. */
  after: string;
}

/** The rows of the table in docs/troubleshooting.md: one for all faults and uses that have the same outcome. */
export function faultRows(): string[][] {
  const different = (Object.keys(parts) as Part[]).filter(
    (part, index, all) => all.findIndex((it) => outcomes[it] === outcomes[part]) === index,
  );
  return different
    .flatMap((part) => rowsOf(part))
    .map((row) => [`${row.part} ${row.faults}`, row.uses.join(', '), inWords(describe(row))]);
}

function rowsOf(part: Part): Row[] {
  const same = (Object.keys(parts) as Part[]).filter((it) => outcomes[it] === outcomes[part]);
  const rows = new Map<string, Row>();
  for (const [use, cells] of Object.entries(outcomes[part]) as [Use, Outcomes][]) {
    if (cells === 'not used') continue;
    const groups = groupFaults(cells);
    const named = groups.flatMap((group) => group.faults).length;
    for (const group of groups) {
      const row = {
        part: same.map((it) => parts[it]).join(' or '),
        faults: describeFaults(group.faults, named === faults.length),
        seen: alternatives(cells[group.faults[0] ?? 'hangs'].seen),
        stored: alternatives(cells[group.faults[0] ?? 'hangs'].stored),
        after: group.faults.includes('hangs') ? describeWait(cells.hangs, group.faults) : '',
      };
      const key = JSON.stringify(row);
      const known = rows.get(key) ?? { ...row, uses: [] };
      known.uses.push(uses[use]);
      rows.set(key, known);
    }
  }
  return [...rows.values()];
}

/** Faults with one outcome, but for those under which everything is as ever. */
function groupFaults(cells: Record<Fault | 'slow', Outcome>): { faults: Fault[] }[] {
  const groups = new Map<string, { faults: Fault[] }>();
  for (const fault of faults) {
    const { seen, stored } = cells[fault];
    if (JSON.stringify([seen, stored]) === JSON.stringify([cells.slow.seen, cells.slow.stored])) {
      continue;
    }
    const key = JSON.stringify([seen, stored]);
    const group = groups.get(key) ?? { faults: [] };
    group.faults.push(fault);
    groups.set(key, group);
  }
  // The exceptions first, then the rule.
  return [...groups.values()].toSorted((a, b) => a.faults.length - b.faults.length);
}

/** `areAll`: the other faults stand in other rows. */
function describeFaults(given: Fault[], areAll: boolean): string {
  if (given.length === faults.length) return 'breaks in any way';
  if (areAll && given.length > faults.length / 2) return 'breaks in any other way';
  return given.map((fault) => faultWords[fault]).join(' or ');
}

function describeWait({ limit }: Outcome, given: Fault[]): string {
  const { words } = limits[limit];
  if (words === '') return '';
  return given.length === 1 ? ` (after ${words})` : ` (after ${words} if it hangs)`;
}

function describe({ seen, stored, after }: Row): string {
  return `${seen}${after}${stored === '' ? '' : `. Left: ${stored}`}`;
}

function alternatives(value: string | readonly string[]): string {
  return typeof value === 'string' ? value : value.join(', or ');
}

/** Codes stand out. */
function inWords(seen: string): string {
  return seen.replace(/\b[A-Z]{2,}(_[A-Z]+)+\b|\bUNHEALTHY\b|\bCONFLICT\b/g, '`$&`');
}
