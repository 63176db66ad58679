//! The limit on the sampling requests of a mounted upstream server.

use std::time::Duration;

use serde_json::json;
use toolwire::relay::Upstream;
use toolwire_tests::peer::{Peer, modern_with};

use crate::source::{UpstreamEra, mounted_with};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn sampling_requests_are_limited_for_each_caller() {
    let limit = |upstream: Upstream| upstream.with_sampling_limit(2, HOUR);
    let mut mounted = mounted_with(UpstreamEra::Modern, limit).await;
    let mut callers = [(); 2].map(|()| Peer::connect(&mounted.server));
    let requests = json!({"k": {"method": "sampling/createMessage", "params": {}}});
    let result = json!({"resultType": "input_required", "inputRequests": requests});
    let mut id = 0;
    let mut call = async |caller: &mut Peer| {
        id += 1;
        let params = json!({"name": "up_greet", "arguments": {}});
        let request = modern_with(id, "tools/call", params, json!({"sampling": {}}));
        caller.send(request).await;
        let request = mounted.upstream.receive().await;
        let result = result.to_string();
        mounted.upstream.respond(&request, &result).await;
        caller.receive().await
    };
    for caller in &mut callers {
        for _ in 0..2 {
            let shown = call(caller).await;
            assert_eq!(shown["result"]["inputRequests"], requests, "{shown}");
        }
        let rejected = call(caller).await;
        assert_eq!(rejected["error"]["code"], -32603, "{rejected}");
        assert_eq!(rejected["error"]["data"]["reason"], "rate_limited");
    }
    tokio::time::advance(HOUR / 2).await;
    let shown = call(&mut callers[0]).await;
    assert_eq!(shown["result"]["inputRequests"], requests, "{shown}");
}
