//! What a server reports about itself, for commands that describe it elsewhere.

use std::sync::Arc;

use toolwire::types::{Implementation, Prompt};
use toolwire::{ProcessTracker, Tool};

use crate::closing::close;
use crate::commands::Session;
use crate::commands::prompts::offered_prompts;
use crate::commands::tools::offered_tools;
use crate::connect::connect;
use crate::connection_arguments::Server;
use crate::failure::Failure;
use crate::input_kind::InputCapabilities;
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::target::Target;

/// The name, the tools and the prompts of a server.
#[derive(Debug)]
pub(crate) struct ServerSummary {
    pub(crate) info: Option<Implementation>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
}

impl ServerSummary {
    /// Connects to a server, reads its lists and disconnects.
    pub(crate) async fn of(
        target: &Target,
        server: &Server,
        screen: &Arc<Screen>,
    ) -> Result<Self, Failure> {
        let mut interrupts = Interrupts::listen();
        let processes = ProcessTracker::new();
        let connecting = connect(target, server, None, screen, &processes);
        let client = match interrupts.or(connecting).await {
            Ok(client) => client,
            Err(failure) => {
                close(async {}, &processes, &mut interrupts).await?;
                return Err(failure.at(target));
            }
        };
        let session = Session {
            client,
            screen: Arc::clone(screen),
            responds: InputCapabilities::default(),
            target: target.clone(),
            era: server.era,
        };
        let reading = async {
            Ok(Self {
                info: session
                    .client
                    .server()
                    .and_then(|server| server.info.clone()),
                tools: offered_tools(&session).await?.unwrap_or_default(),
                prompts: offered_prompts(&session).await?.unwrap_or_default(),
            })
        };
        let summary = interrupts.or(reading).await;
        close(session.client.close(), &processes, &mut interrupts).await?;
        summary
    }

    /// Returns one line about the server.
    pub(crate) fn shown(&self) -> String {
        let name = match &self.info {
            Some(info) => format!("{} {}", info.name, info.version),
            None => "a server without a name".to_owned(),
        };
        let count = |number: usize, what: &str| match number {
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        let (tools, prompts) = (self.tools.len(), self.prompts.len());
        format!(
            "{name}: {}, {}",
            count(tools, "tool"),
            count(prompts, "prompt")
        )
    }
}
