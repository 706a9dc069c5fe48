import type { NotificationData } from '@mantine/notifications';

/** Shows a notification in the corner of the page. */
export async function notify(message: NotificationData): Promise<void> {
  const { notifications } = await import('@mantine/notifications');
  notifications.show({ closeButtonProps: { 'aria-label': 'Close' }, ...message });
}
