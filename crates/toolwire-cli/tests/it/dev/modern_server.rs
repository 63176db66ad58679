//! A server that speaks only 2026-07-28, with clients of both eras.

use serde_json::{Value, json};

use super::project::{Project, start_with_client};
use crate::process::{Demo, Era};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// A server with one tool and one prompt, whose names are set before it.
const SERVER: &str = r#"
result() { printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}\n' "$id" "$1"; }
list() { result '"ttlMs":0,"cacheScope":"private",'"$1"; }
while IFS= read -r line; do
  id=${line#*\"id\":}
  [ "$id" = "$line" ] && continue
  id=${id%%[!0-9]*}
  case $line in
    *'"method":"server/discover"'*)
      list '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}}' ;;
    *'"method":"subscriptions/listen"'*)
      echo $tool >> listened
      printf '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}\n' "$id" ;;
    *'"method":"tools/list"'*) list '"tools":[{"name":"'$tool'","inputSchema":{"type":"object"}}]' ;;
    *'"method":"prompts/list"'*) list '"prompts":[{"name":"'$prompt'"}]' ;;
    *'"method":"tools/call"'*) result '"content":[{"type":"text","text":"'$tool'"}]' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

fn write_server(project: &Project, tool: &str, prompt: &str) {
    let text = format!("tool={tool}\nprompt={prompt}\n{SERVER}");
    project.write("src/server.sh", &text);
}

/// Lets a modern client listen to changes of both lists. Legacy clients need no request.
async fn listen(client: &mut Demo) {
    if client.era() == Era::Modern {
        let filter = json!({"toolsListChanged": true, "promptsListChanged": true});
        let listening = json!({ "notifications": filter });
        client.request("subscriptions/listen", listening).await;
        let is_accepted =
            |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
        let accepted = client.next_unsolicited(is_accepted).await;
        assert_eq!(accepted["params"]["notifications"], filter);
    }
}

/// Waits until one list has changed. Fails if the other one is announced before it.
async fn expect_change(client: &mut Demo, changed: &str, unchanged: &str) {
    client
        .next_unsolicited(|message| message["method"] == changed)
        .await;
    let is_unchanged = |message: &Value| message["method"] == unchanged;
    let announced = &client.unsolicited;
    assert!(!announced.iter().any(is_unchanged), "{announced:?}");
}

async fn name_of_first(client: &mut Demo, kind: &str) -> Value {
    let mut listed = client.ask(&format!("{kind}/list"), json!({})).await;
    listed["result"][kind][0]["name"].take()
}

#[tokio::test]
async fn clients_of_both_eras_stay_connected_and_get_the_changes_of_changed_lists() {
    for era in Era::BOTH {
        let project = Project::new();
        write_server(&project, "first", "one");
        let (mut client, _page) = start_with_client(&project, era).await;
        assert_eq!(client.call_text("first", json!({})).await, "first");
        listen(&mut client).await;
        // An unwanted announcement of a list would arrive before the wanted one of the next server.
        for tool in ["second", "third"] {
            write_server(&project, tool, "one");
            expect_change(&mut client, TOOLS_CHANGED, PROMPTS_CHANGED).await;
            assert_eq!(name_of_first(&mut client, "tools").await, tool);
            assert_eq!(client.call_text(tool, json!({})).await, tool);
            project.until_contains("listened", tool).await;
        }
        for prompt in ["two", "three"] {
            write_server(&project, "third", prompt);
            expect_change(&mut client, PROMPTS_CHANGED, TOOLS_CHANGED).await;
            assert_eq!(name_of_first(&mut client, "prompts").await, prompt);
        }
        let ended = client.end().await;
        assert!(ended.status.success(), "{:?}", ended.status);
    }
}
