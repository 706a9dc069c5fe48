import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ruleNames } from '../lib/alerts/rules/rule.ts';
import { rules } from '../lib/alerts/rules/rules.ts';
import { variableGroups } from '../lib/config/groups.ts';
import { tools } from '../lib/tools/catalogue.ts';
import { describeTool } from '../lib/tools/describe-tool.ts';
import type { Tool } from '../lib/tools/tool.ts';
import { allRoutes, createDocument } from './build/openapi.ts';
import { runCommand } from './command.ts';
import { callers, readAccessTable } from './tables/access-table.ts';
import { errorRows } from './tables/error-table.ts';
import { faultRows } from './tables/fault-table.ts';

// Generates parts of the documents from the code: `npm run generate`. With --check, only reports which are out of date.

interface Variable {
  name: string;
  default: string;
  about: string;
}

/** The parts of a tool's input schema that the table shows. */
const inputSchema = z.object({
  properties: z.record(
    z.string(),
    z.object({ type: z.string(), maximum: z.number().optional(), default: z.unknown().optional() }),
  ),
  required: z.array(z.string()).default([]),
});

await runCommand(async () => {
  const stale = Object.entries(renderAll()).filter(
    ([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text,
  );
  if (!process.argv.includes('--check')) {
    for (const [path, text] of stale) writeFileSync(path, text);
    return 0;
  }
  for (const [path] of stale) process.stderr.write(`${path} is out of date: npm run generate\n`);
  return stale.length === 0 ? 0 : 1;
});

function renderAll(): Record<string, string> {
  return {
    '.env.example': renderEnvExample(),
    'docs/configuration.md': fill('docs/configuration.md', { variables: variableTables }),
    'docs/http-api.md': fill('docs/http-api.md', {
      routes: routeTable,
      errors: errorTable,
      tools: toolTable,
    }),
    'docs/troubleshooting.md': fill('docs/troubleshooting.md', { faults: faultTable }),
    'docs/alerts.md': fill('docs/alerts.md', { rules: ruleTable }),
    'SECURITY.md': fill('SECURITY.md', { access: accessTable }),
    'openapi.json': `${JSON.stringify(createDocument(allRoutes), null, 2)}\n`,
  };
}

/** A document with its generated parts (between markers) replaced. */
function fill(path: string, parts: Record<string, () => string>): string {
  return Object.entries(parts).reduce(
    (document, [part, render]) => {
      const [start, end] = [`<!-- generated: ${part} -->`, `<!-- end of ${part} -->`];
      const [before, rest] = document.split(start);
      const after = rest?.split(end)[1];
      if (before === undefined || after === undefined) throw new Error(`${path} lacks ${start}`);
      return `${before}${start}\n\n${render()}\n\n${end}${after}`;
    },
    readFileSync(path, 'utf8'),
  );
}

function variableTables(): string {
  const head = [row('Variable', 'Default', 'Meaning'), row('---', '---', '---')];
  return Object.entries(variableGroups)
    .map(([title, group]) => {
      const rows = variablesOf(group).map((variable) =>
        row(`\`${variable.name}\``, variable.default || 'unset', variable.about),
      );
      return [`## ${title}\n`, ...head, ...rows].join('\n');
    })
    .join('\n\n');
}

function routeTable(): string {
  const rows = allRoutes.map((route) =>
    row(`\`${route.method.toUpperCase()} ${route.path}\``, route.access, route.summary),
  );
  return [row('Route', 'Access', 'What it does'), row('---', '---', '---'), ...rows].join('\n');
}

function toolTable(): string {
  const rows = tools.map((tool) =>
    row(
      `\`${tool.name}\``,
      parametersOf(tool).join('; ') || 'none',
      tool.needsConfirmation ? 'change' : 'read',
      // Only the first sentence: the rest is for models.
      tool.description.replace(/(?<=[.:]) .*$/s, '').replace(/:$/, '.'),
    ),
  );
  const head = row('Tool', 'Parameters', 'Kind', 'What it does');
  return [head, row('---', '---', '---', '---'), ...rows].join('\n');
}

function errorTable(): string {
  const head = row('Code', 'Status', 'Exit code', 'Meaning');
  const rows = errorRows().map((cells) => row(...cells));
  return [head, row('---', '---', '---', '---'), ...rows].join('\n');
}

function ruleTable(): string {
  const rows = ruleNames.map((name) => {
    const { severity, when, advice } = rules[name];
    return row(`\`${name}\``, severity, when, advice);
  });
  return [
    row('Rule', 'Severity', 'An incident is open while', 'What to do'),
    row('---', '---', '---', '---'),
    ...rows,
  ].join('\n');
}

function faultTable(): string {
  const head = row('Failure', 'Affects', 'What happens');
  const rows = faultRows().map((cells) => row(...cells));
  return [head, row('---', '---', '---'), ...rows].join('\n');
}

/** The parameters of a tool, such as `limit` integer 1 to 200, default 50. */
function parametersOf(tool: Tool): string[] {
  const { properties, required } = inputSchema.parse(describeTool(tool).inputSchema);
  return Object.entries(properties).map(([name, { type, maximum = 0, default: fallback }]) => {
    const range = maximum === 0 || maximum === 2 ** 31 - 1 ? '' : ` 1 to ${maximum}`;
    const optional = required.includes(name) ? '' : ', optional';
    return `\`${name}\` ${type}${range}${fallback ? `, default ${fallback}` : optional}`;
  });
}

function accessTable(): string {
  const head = row('Route', ...callers);
  const sections = [...Map.groupBy(readAccessTable(), ({ section }) => section)];
  return sections
    .map(([section, rows]) =>
      [
        // Without the reference in parentheses.
        `${section.replace(/ \(.*?\)/, '')}:\n`,
        head,
        row('---', ...callers.map(() => '---')),
        ...rows.map(({ method, path, access }) =>
          row(`\`${method} ${path}\``, ...callers.map((caller) => access[caller])),
        ),
      ].join('\n'),
    )
    .join('\n\n');
}

function row(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function renderEnvExample(): string {
  const sections = Object.entries(variableGroups).map(([title, group]) => {
    const lines = variablesOf(group).map(
      (variable) => `# ${variable.about}\n#${variable.name}=${variable.default}`,
    );
    return `## ${title}\n\n${lines.join('\n\n')}`;
  });
  return `# Copy to .env and uncomment what you set. All defaults work locally. If there is a .env,\n# npm start does not generate secrets.\n\n${sections.join('\n\n')}\n`;
}

function variablesOf(group: z.ZodObject): Variable[] {
  return Object.entries(group.shape).map(([name, schema]) => ({
    name,
    default: defaultOf(schema),
    about: (schema as z.ZodType).description ?? '',
  }));
}

/** The default as written in the environment; empty if there is none. */
function defaultOf(schema: z.core.$ZodType): string {
  const { def } = schema._zod as {
    def: { type: string; defaultValue?: unknown; in?: z.core.$ZodType };
  };
  if (def.type === 'default') return String(def.defaultValue);
  return def.in ? defaultOf(def.in) : '';
}
