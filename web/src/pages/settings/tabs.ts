/** The tabs of the settings, each with its address, and what a person may look for in it. */
export const settingsTabs = [
  { value: 'models', label: 'Models', words: 'gateway key chat embedding reranking' },
  { value: 'search', label: 'Search', words: 'vectors index generations' },
  { value: 'sources', label: 'Sources', words: 'folders addresses what is backed up' },
  { value: 'schedule', label: 'Schedule', words: 'times cron every daily runs time zone' },
  { value: 'users', label: 'Users', words: 'password login administrators roles' },
  {
    value: 'alerts',
    label: 'Alerts',
    words: 'channels mail Slack notifications quiet hours mute maintenance digest status page',
  },
  { value: 'objectives', label: 'Objectives', words: 'RPO RTO attainment' },
  { value: 'agents', label: 'Agents', words: 'MCP AI tokens' },
] as const;
