/** The tabs of the settings, each with its address. */
export const settingsTabs = [
  { value: 'models', label: 'Models' },
  { value: 'search', label: 'Search' },
  { value: 'users', label: 'Users' },
  { value: 'alerts', label: 'Alerts' },
  { value: 'agents', label: 'Agents' },
] as const;
