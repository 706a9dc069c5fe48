import {
  limits,
  type Outcome,
  type Outcomes,
  outcomes,
  type Part,
  parts,
  type Use,
  uses,
} from '../../tests/soak/faults/outcomes.ts';

/** How the table describes each fault. */
const faultWords = {
  refuses: 'refuses connections',
  hangs: 'hangs',
  resets: 'cuts off its responses',
  garbage: 'responds with garbage',
  page: 'responds with a web page',
} as const;
type Fault = keyof typeof faultWords;
const faults = Object.keys(faultWords) as Fault[];

interface Row {
  part: string;
  faults: string;
  uses: string[];
  seen: string;
  stored: string;
  /** How long that takes, if noticeable. */
  after: string;
}

/** The rows of the table in docs/troubleshooting.md. Faults and uses with the same outcome share a row. */
export function faultRows(): string[][] {
  const distinct = (Object.keys(parts) as Part[]).filter(
    (part, index, all) => all.findIndex((other) => outcomes[other] === outcomes[part]) === index,
  );
  return distinct
    .flatMap((part) => rowsOf(part))
    .map((row) => [`${row.part} ${row.faults}`, row.uses.join(', '), formatCodes(describe(row))]);
}

function rowsOf(part: Part): Row[] {
  const same = (Object.keys(parts) as Part[]).filter((other) => outcomes[other] === outcomes[part]);
  const rows = new Map<string, Row>();
  for (const [use, cells] of Object.entries(outcomes[part]) as [Use, Outcomes][]) {
    if (cells === 'not used') continue;
    const groups = groupFaults(cells);
    const covered = groups.flatMap((group) => group.faults).length;
    for (const group of groups) {
      const row = {
        part: same.map((other) => parts[other]).join(' or '),
        faults: describeFaults(group.faults, covered === faults.length),
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

/** Groups faults by outcome, without those that change nothing. */
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
  // Exceptions first.
  return [...groups.values()].toSorted((a, b) => a.faults.length - b.faults.length);
}

/** `areAll`: the other faults are covered by other rows. */
function describeFaults(given: Fault[], areAll: boolean): string {
  if (given.length === faults.length) return 'fails in any way';
  if (areAll && given.length > faults.length / 2) return 'fails in any other way';
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

/** Formats error codes as code. */
function formatCodes(seen: string): string {
  return seen.replace(/\b[A-Z]{2,}(_[A-Z]+)+\b|\bUNHEALTHY\b|\bCONFLICT\b/g, '`$&`');
}
