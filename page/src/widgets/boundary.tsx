// Shows a message instead of a part of the page that failed. The other parts stay as they are.

import { Component, type ComponentChildren } from "preact";
import { plainLine } from "../plain_text";
import { messageOf } from "../store";

interface Props {
  /** The name of the part. */
  name: string;
  /** Gets the reason instead of the message that is shown otherwise. */
  onFailed?: ((reason: string) => void) | undefined;
  children: ComponentChildren;
}

interface State {
  /** Why the part failed. */
  reason: string | undefined;
}

export class Boundary extends Component<Props, State> {
  override state: State = { reason: undefined };

  override componentDidCatch(error: unknown): void {
    const reason = messageOf(error);
    this.setState({ reason });
    this.props.onFailed?.(reason);
  }

  override render() {
    const { reason } = this.state;
    if (reason === undefined) return this.props.children;
    if (this.props.onFailed) return null;
    return (
      <div class="problem" role="alert">
        <p>
          {this.props.name} cannot be shown: {plainLine(reason)}
        </p>
        <button type="button" onClick={() => this.setState({ reason: undefined })}>
          Try again
        </button>
      </div>
    );
  }
}
