// Imports go downward only: a file may import its own folder's floor below, never above and never a
// neighbouring surface. Type imports count too.
const floors = [
  { name: 'drizzle', path: '^drizzle/' },
  {
    name: 'foundation',
    path: '^lib/([\\w-]+\\.ts$|(config|database|git|http|processes|rate-limits|security|surfaces|text)/)',
  },
  {
    name: 'records, alerts, archives, gateway, restore, search, stores, users',
    path: '^lib/(records|alerts|archives|gateway|restore|search|stores|users)/',
  },
  { name: 'tools', path: '^lib/tools/' },
  { name: 'surfaces', path: '^lib/(backups|live|observatory|mcp|worker)/' },
  { name: 'entry points', path: '^(api|scripts)/' },
  { name: 'tests and benchmarks', path: '^(tests|bench)/' },
];

/** Folders of one floor that must not know each other. */
const neighbours = ['backups', 'live', 'observatory', 'mcp', 'worker'];

/** What tests state and documents show: the one thing that is read upwards. */
const stated = '^tests/soak/faults/outcomes\\.ts$';

/** Drivers are loaded by the one file that wraps each, so that a function carries only what it uses. */
const drivers = [
  { driver: '^node_modules/pg/', owner: '^lib/database/' },
  { driver: '^node_modules/@neondatabase/', owner: '^lib/database/neon\\.ts$' },
  { driver: '^node_modules/@electric-sql/', owner: '^lib/database/' },
  { driver: '^node_modules/@aws-sdk/', owner: '^lib/stores/s3/' },
];

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...floors.slice(0, -1).map(({ name, path }, floor) => ({
      name: `${name}: downward only`,
      severity: 'error',
      from: { path },
      to: {
        path: floors.slice(floor + 1).map((above) => above.path),
        ...(name === 'entry points' ? { pathNot: stated } : {}),
      },
    })),
    ...neighbours.map((name) => ({
      name: `${name}: no neighbour surface`,
      severity: 'error',
      from: { path: `^lib/${name}/` },
      to: { path: `^lib/(${neighbours.filter((other) => other !== name).join('|')})/` },
    })),
    ...drivers.map(({ driver, owner }) => ({
      name: `driver ${driver} only in ${owner}`,
      severity: 'error',
      from: { path: '^(lib|api|scripts)/', pathNot: owner },
      to: { path: driver },
    })),
    {
      name: 'no development dependency in what ships',
      severity: 'error',
      from: { path: '^(lib|api|drizzle|scripts)/', pathNot: '^scripts/build/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'every import resolves',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no file that nothing reaches',
      severity: 'error',
      from: {
        orphan: true,
        path: '^lib/',
      },
      to: {},
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
