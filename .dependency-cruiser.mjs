// Imports go downward only: a file may import from its own layer or a lower one, but never from a higher layer or another
// surface. Type imports count too.
const layers = [
  { name: 'drizzle', path: '^drizzle/' },
  {
    name: 'foundation',
    path: '^lib/([\\w-]+\\.ts$|(config|database|git|http|processes|rate-limits|security|surfaces|text|timing)/)',
  },
  {
    name: 'records, alerts, archives, drills, gateway, objectives, restore, schedule, search, stores, users',
    path: '^lib/(records|alerts|archives|drills|gateway|objectives|restore|schedule|search|stores|users)/',
  },
  { name: 'tools', path: '^lib/tools/' },
  { name: 'surfaces', path: '^lib/(backups|live|observatory|mcp|worker)/' },
  { name: 'entry points', path: '^(api|scripts)/' },
  { name: 'tests and benchmarks', path: '^(tests|bench)/' },
];

/** Folders of the surface layer, which must not import each other. */
const surfaces = ['backups', 'live', 'observatory', 'mcp', 'worker'];

/** The outcomes that tests expect and a document shows: the only upward import. */
const faultOutcomes = '^tests/soak/faults/outcomes\\.ts$';

/** Each driver is loaded only by the code that wraps it, so that a function contains only what it uses. */
const drivers = [
  { driver: '^node_modules/pg/', owner: '^lib/database/' },
  { driver: '^node_modules/@neondatabase/', owner: '^lib/database/neon\\.ts$' },
  { driver: '^node_modules/@electric-sql/', owner: '^lib/database/' },
  { driver: '^node_modules/@aws-sdk/', owner: '^lib/stores/s3/' },
];

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no circle of folders',
      severity: 'error',
      scope: 'folder',
      from: { path: '^lib(/|$)' },
      to: { circular: true },
    },
    ...layers.slice(0, -1).map(({ name, path }, layer) => ({
      name: `${name}: downward only`,
      severity: 'error',
      from: { path },
      to: {
        path: layers.slice(layer + 1).map((above) => above.path),
        ...(name === 'entry points' ? { pathNot: faultOutcomes } : {}),
      },
    })),
    ...surfaces.map((name) => ({
      name: `${name}: no other surface`,
      severity: 'error',
      from: { path: `^lib/${name}/` },
      to: { path: `^lib/(${surfaces.filter((other) => other !== name).join('|')})/` },
    })),
    ...drivers.map(({ driver, owner }) => ({
      name: `driver ${driver} only in ${owner}`,
      severity: 'error',
      from: { path: '^(lib|api|scripts)/', pathNot: owner },
      to: { path: driver },
    })),
    {
      name: 'no development dependency in shipped code',
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
