//! Broken connections, restarted servers, and closed clients.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolwire::Change;
use toolwire::types::SubscriptionFilter;
use toolwire_interop::CuttingProxy;

use super::pair::{Failure, MODEL, Outcome, Pair, Setting, User, equal, text_of};

/// The stream of a call breaks in the middle of a message. The call is resumed, and no message arrives twice.
pub(crate) async fn resumes_a_cut_stream(pair: &Pair) -> Outcome {
    let proxy = CuttingProxy::start(address_of(pair)?, "notifications/progress").await?;
    let client = pair
        .setting
        .builder(&pair.user)
        .connect(url_of(&proxy))
        .await?;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&steps);
    let result = client
        .call_tool("count", json!({"to": 6, "delay_ms": 100}))
        .on_progress(move |step| {
            received
                .lock()
                .expect("no thread panics with the lock")
                .push(step.progress);
        })
        .await?;
    equal(text_of(&result), "counted to 6")?;
    let steps = steps
        .lock()
        .expect("no thread panics with the lock")
        .clone();
    equal(&steps[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    equal(proxy.cuts(), 1)?;
    client.close().await;
    Ok(())
}

/// If streams cannot be resumed, the call fails at once.
pub(crate) async fn cut_stream_is_an_error(pair: &Pair) -> Outcome {
    let proxy = CuttingProxy::start(address_of(pair)?, "notifications/progress").await?;
    let client = pair
        .setting
        .builder(&pair.user)
        .connect(url_of(&proxy))
        .await?;
    let call = client.call_tool("count", json!({"to": 6, "delay_ms": 100}));
    match call.on_progress(|_| {}).await {
        Ok(result) => return Err(Failure::new(format!("{result:?}"))),
        Err(error) if error.rpc().is_some() => return Err(error.into()),
        Err(_) => equal(proxy.cuts(), 1)?,
    }
    // The next call opens a new connection.
    let result = client.call_tool("echo", json!({"text": "again"})).await?;
    equal(text_of(&result), "again")?;
    client.close().await;
    Ok(())
}

/// The stream of change notifications breaks during a notification. The change is not lost.
pub(crate) async fn resumes_listening_after_a_cut(pair: &Pair) -> Outcome {
    let counter = "demo://counter";
    let proxy = CuttingProxy::start(address_of(pair)?, "notifications/resources/updated").await?;
    let listener = pair
        .setting
        .builder(&pair.user)
        .connect(url_of(&proxy))
        .await?;
    let filter = SubscriptionFilter::new().with_resource(counter);
    let mut changes = listener.listen(filter).await?;
    for _ in 0..2 {
        // Another client changes the resource. The second change breaks the connection.
        pair.call("bump", json!({})).await?;
        let change = Change::ResourceUpdated(counter.to_owned());
        equal(changes.next().await?, Some(change))?;
    }
    equal(proxy.cuts(), 1)?;
    drop(changes);
    listener.close().await;
    Ok(())
}

/// The server is restarted: sessions and connections are gone, but the next call succeeds.
pub(crate) async fn survives_a_restart(pair: &Pair) -> Outcome {
    pair.listening()?.borrow_mut().restart()?;
    equal(pair.call("echo", json!({"text": "after"})).await?, "after")?;
    // The new session has the same client capabilities as the old one.
    let text = pair
        .call("summarise", json!({"text": "a long story"}))
        .await?;
    equal(text, format!("{MODEL}: in short: a long story"))
}

/// The last check: after it, the client is closed.
pub(crate) async fn closed_client_rejects_calls(pair: &Pair) -> Outcome {
    pair.client.close().await;
    if let Some(file) = pair.process_id_file.as_ref().filter(|_| cfg!(unix)) {
        equal(is_running(&process_id(file)?)?, false)?;
        std::fs::remove_file(file)?;
    }
    let Err(error) = pair
        .client
        .call_tool("echo", json!({"text": "too late"}))
        .await
    else {
        return Err(Failure::new("a closed client made a call"));
    };
    equal(error.is_closed(), true)?;
    equal(pair.client.pending_operations(), 0)
}

/// A client that is dropped without closing ends its child process, too.
pub(crate) async fn dropped_client_ends_its_child(pair: &Pair) -> Outcome {
    let Some(file) = &pair.process_id_file else {
        return Err(Failure::new("there is no child process"));
    };
    let file = file.with_extension("dropped");
    let user = Arc::new(User::default());
    let client = connect_child(pair.setting, &user, &file).await?;
    let process = process_id(&file)?;
    equal(is_running(&process)?, true)?;
    drop(client);
    // The process may end later. The check has a timeout.
    while is_running(&process)? {
        tokio::task::yield_now().await;
    }
    Ok(std::fs::remove_file(file)?)
}

async fn connect_child(
    setting: Setting,
    user: &Arc<User>,
    file: &Path,
) -> Result<toolwire::Client, Failure> {
    Ok(setting
        .builder(user)
        .spawn(setting.child(Some(file))?)
        .await?)
}

fn process_id(file: &Path) -> Result<String, Failure> {
    Ok(std::fs::read_to_string(file)?.trim().to_owned())
}

/// Returns `true` if the process exists, even if it was not reaped.
fn is_running(process: &str) -> Result<bool, Failure> {
    let status = Command::new("sh")
        .args(["-c", "kill -0 \"$0\"", process])
        .stderr(Stdio::null())
        .status()?;
    Ok(status.success())
}

fn address_of(pair: &Pair) -> Result<SocketAddr, Failure> {
    Ok(pair.listening()?.borrow().address())
}

fn url_of(proxy: &CuttingProxy) -> String {
    format!("http://{}/mcp", proxy.address())
}
