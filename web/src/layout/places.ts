import {
  BellIcon,
  ChatBubbleIcon,
  CubeIcon,
  EnvelopeClosedIcon,
  FileTextIcon,
  GearIcon,
  HomeIcon,
  ListBulletIcon,
  MagnifyingGlassIcon,
} from '@radix-ui/react-icons';

/** The pages in the navigation and in the command palette. */
export const places = [
  { to: '/', label: 'Overview', icon: HomeIcon },
  { to: '/runs', label: 'Runs', icon: ListBulletIcon },
  { to: '/repositories', label: 'Repositories', icon: CubeIcon },
  { to: '/incidents', label: 'Incidents', icon: BellIcon },
  { to: '/logs', label: 'Logs', icon: FileTextIcon },
  { to: '/search', label: 'Search', icon: MagnifyingGlassIcon },
  { to: '/chat', label: 'Chat', icon: ChatBubbleIcon },
  { to: '/reports', label: 'Reports', icon: EnvelopeClosedIcon },
  { to: '/settings', label: 'Settings', icon: GearIcon },
] as const;
