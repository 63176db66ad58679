//! A relay that decodes every message, for the comparison of proxies: `decoding-relay ADDRESS SERVER_URL`.

use toolwire_bench::proxies::decoding_relay;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, server_url] = arguments.as_slice() else {
        return Err(std::io::Error::other(
            "usage: decoding-relay ADDRESS SERVER_URL",
        ));
    };
    decoding_relay::serve(address, server_url).await
}
