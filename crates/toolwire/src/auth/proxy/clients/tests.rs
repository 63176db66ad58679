use toolwire_proto::request_state::{KeyRing, StateKey};
use toolwire_types::auth::ClientMetadata;

use super::*;
use crate::auth::canned_http::CannedHttp;
use crate::store::MemoryProxyStore;

fn vault() -> Vault {
    Vault {
        store: Arc::new(MemoryProxyStore::default()),
        keys: KeyRing::new(StateKey::new([1; 32])),
        issuer: "https://a".to_owned(),
    }
}

/// A site that describes every client it is asked about.
fn site() -> CannedHttp {
    CannedHttp::new(|request| {
        let url = request.uri().to_string();
        if url.ends_with("/missing") {
            return (404, String::new());
        }
        let metadata = ClientMetadata::new()
            .with_name("A")
            .with_redirect_uris(["https://a/cb"]);
        let document = ClientIdMetadataDocument::new(url, metadata);
        (200, serde_json::to_string(&document).unwrap())
    })
}

fn clients(site: &CannedHttp) -> Clients {
    Clients::new(GuardedFetcher::with_http_client(site.clone()))
}

#[tokio::test(start_paused = true)]
async fn documents_are_believed_for_a_while() {
    let (site, vault) = (site(), vault());
    let clients = clients(&site);
    let find = async |url: &str| clients.find(&vault, url).await.is_ok();
    assert!(find("https://a/b").await && find("https://a/b").await);
    assert_eq!(site.count(), 1);
    tokio::time::advance(DOCUMENT_TIME - Duration::from_millis(1)).await;
    assert!(find("https://a/b").await);
    assert_eq!(site.count(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(find("https://a/b").await);
    assert_eq!(site.count(), 2);

    assert!(!find("https://a/missing").await && !find("https://a/missing").await);
    assert_eq!(site.count(), 3);
    tokio::time::advance(FAILURE_TIME).await;
    assert!(!find("https://a/missing").await);
    assert_eq!(site.count(), 4);
}

#[tokio::test]
async fn so_many_documents_are_kept_and_no_more() {
    let (site, vault) = (site(), vault());
    let clients = clients(&site);
    let find = async |number: usize| {
        let url = format!("https://a/{number}");
        assert!(clients.find(&vault, &url).await.is_ok());
    };
    for number in 0..MAX_DOCUMENTS {
        find(number).await;
    }
    find(0).await;
    assert_eq!(site.count(), MAX_DOCUMENTS);
    find(MAX_DOCUMENTS).await;
    assert_eq!(clients.documents().len(), MAX_DOCUMENTS);
}

#[tokio::test]
async fn so_many_documents_are_fetched_at_once_and_no_more() {
    let (site, vault) = (site().held(), Arc::new(vault()));
    let clients = Arc::new(clients(&site));
    let tasks: Vec<_> = (0..MAX_FETCHES)
        .map(|number| {
            let (clients, vault) = (Arc::clone(&clients), Arc::clone(&vault));
            let url = format!("https://a/{number}");
            tokio::spawn(async move { clients.find(&vault, &url).await.is_ok() })
        })
        .collect();
    while site.count() < MAX_FETCHES {
        tokio::task::yield_now().await;
    }
    let refused = clients.find(&vault, "https://a/more").await;
    assert!(matches!(refused, Err(NoClient::Unavailable)));
    assert_eq!(site.count(), MAX_FETCHES);
    site.release();
    for task in tasks {
        assert!(task.await.unwrap());
    }
    assert!(clients.find(&vault, "https://a/more").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn registrations_that_are_used_last_longer() {
    let (site, vault) = (site(), vault());
    let clients = clients(&site);
    let metadata = ClientMetadata::new().with_redirect_uris(["https://a/cb"]);
    let accepted = Accepted::judge(&metadata).unwrap();
    let unused = clients.register(&vault, &accepted).await.unwrap();
    let used = clients.register(&vault, &accepted).await.unwrap();
    assert_ne!(unused.client_id, used.client_id);
    let is_known = async |id: &str| clients.find(&vault, id).await.is_ok();

    tokio::time::advance(UNUSED_TIME - Duration::from_millis(1)).await;
    assert!(is_known(&unused.client_id).await);
    clients.prolong(&vault, &used.client_id).await.unwrap();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!is_known(&unused.client_id).await);
    assert!(is_known(&used.client_id).await);
    tokio::time::advance(USED_TIME).await;
    assert!(!is_known(&used.client_id).await);
    assert_eq!(site.count(), 0);
}
