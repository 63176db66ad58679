use super::*;
use crate::documents::ClientMetadata;
use crate::test_http::CannedHttp;

/// Creates an HTTP client that returns a document for every client id.
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

fn documents(site: &CannedHttp) -> Arc<Documents> {
    let fetcher = DocumentFetcher::with_http_client(site.clone());
    Arc::new(Documents::new(fetcher))
}

/// Requests a document in a separate task.
fn spawn_find(
    documents: &Arc<Documents>,
    url: impl Into<String>,
    source: Option<Source>,
) -> tokio::task::JoinHandle<Result<Arc<ClientRecord>, ClientLookupError>> {
    let (documents, url) = (Arc::clone(documents), url.into());
    tokio::spawn(async move { documents.find(&url, source).await })
}

/// Waits until the site has received this many requests.
async fn wait_for_fetches(site: &CannedHttp, count: usize) {
    until(|| site.count() >= count).await;
}

/// Waits until this many requests wait for a host.
async fn wait_for_queue(documents: &Documents, host: &str, count: usize) {
    let requests = || {
        let hosts = documents.hosts.lock();
        hosts.get(host).map_or(0, |queue| queue.requests)
    };
    until(|| requests() >= count).await;
}

/// Waits for a condition that other tasks cause. Only a defect reaches the timeout.
async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    in_time.expect("the condition holds in time");
}

fn is_rejected(result: &Result<Arc<ClientRecord>, ClientLookupError>) -> bool {
    matches!(result, Err(ClientLookupError::Unavailable))
}

fn source(address: &str) -> Option<Source> {
    Source::of(address.parse().ok(), std::iter::empty(), 0)
}

#[tokio::test(start_paused = true)]
async fn documents_are_cached_until_they_expire() {
    let site = site();
    let documents = documents(&site);
    let find = async |url: &str| documents.find(url, None).await.is_ok();
    assert!(find("https://a/b").await && find("https://a/b").await);
    assert_eq!(site.count(), 1);
    tokio::time::advance(DOCUMENT_TTL - Duration::from_millis(1)).await;
    assert!(find("https://a/b").await);
    assert_eq!(site.count(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(find("https://a/b").await);
    assert_eq!(site.count(), 2);

    assert!(!find("https://a/missing").await && !find("https://a/missing").await);
    assert_eq!(site.count(), 3);
    tokio::time::advance(FAILURE_TTL).await;
    assert!(!find("https://a/missing").await);
    assert_eq!(site.count(), 4);
}

#[tokio::test]
async fn number_of_cached_documents_is_limited() {
    let site = site();
    let documents = documents(&site);
    let find = async |number: usize| {
        let url = format!("https://a/{number}");
        assert!(documents.find(&url, None).await.is_ok());
    };
    for number in 0..MAX_DOCUMENTS {
        find(number).await;
    }
    find(0).await;
    assert_eq!(site.count(), MAX_DOCUMENTS);
    find(MAX_DOCUMENTS).await;
    assert_eq!(documents.cached().len(), MAX_DOCUMENTS);
}

#[tokio::test]
async fn slow_host_does_not_delay_other_hosts() {
    let site = site().blocked();
    let documents = documents(&site);
    let slow: Vec<_> = (0..MAX_WAITING_FOR_HOST)
        .map(|number| spawn_find(&documents, format!("https://slow/{number}"), None))
        .collect();
    wait_for_queue(&documents, "slow", MAX_WAITING_FOR_HOST).await;
    wait_for_fetches(&site, MAX_FETCHES_OF_HOST).await;
    // One more request for the slow host is rejected, without regard to case. A request for another host is served.
    for url in ["https://slow/more", "https://SLOW/more"] {
        assert!(is_rejected(&documents.find(url, None).await));
    }
    assert_eq!(site.count(), MAX_FETCHES_OF_HOST);
    let honest = spawn_find(&documents, "https://honest/client", None);
    wait_for_fetches(&site, MAX_FETCHES_OF_HOST + 1).await;
    site.release();
    assert!(honest.await.unwrap().is_ok());
    for request in slow {
        assert!(request.await.unwrap().is_ok());
    }
    assert!(documents.find("https://slow/more", None).await.is_ok());
    assert!(documents.hosts.lock().is_empty());
}

#[tokio::test]
async fn waiting_requests_use_the_cached_document() {
    let site = site().blocked();
    let documents = documents(&site);
    let requests: Vec<_> = (0..MAX_WAITING_FOR_HOST)
        .map(|_| spawn_find(&documents, "https://a/b", None))
        .collect();
    wait_for_queue(&documents, "a", MAX_WAITING_FOR_HOST).await;
    wait_for_fetches(&site, MAX_FETCHES_OF_HOST).await;
    site.release();
    for request in requests {
        assert!(request.await.unwrap().is_ok());
    }
    assert_eq!(site.count(), MAX_FETCHES_OF_HOST);
}

#[tokio::test]
async fn one_source_cannot_use_all_fetches() {
    let site = site().blocked();
    let documents = documents(&site);
    let (attacker, honest) = (source("93.184.215.14"), source("93.184.215.15"));
    let slow: Vec<_> = (0..MAX_WAITING_OF_SOURCE)
        .map(|number| spawn_find(&documents, format!("https://host{number}/a"), attacker))
        .collect();
    wait_for_fetches(&site, MAX_WAITING_OF_SOURCE).await;
    let more = documents.find("https://more/a", attacker).await;
    assert!(is_rejected(&more));
    let other = spawn_find(&documents, "https://more/a", honest);
    wait_for_fetches(&site, MAX_WAITING_OF_SOURCE + 1).await;
    site.release();
    assert!(other.await.unwrap().is_ok());
    for request in slow {
        assert!(request.await.unwrap().is_ok());
    }
    assert!(documents.find("https://a/b", attacker).await.is_ok());
    assert!(documents.sources.lock().is_empty());
}

#[tokio::test]
async fn number_of_concurrent_fetches_is_limited() {
    let site = site().blocked();
    let documents = documents(&site);
    let requests: Vec<_> = (0..MAX_FETCHES)
        .map(|number| spawn_find(&documents, format!("https://host{number}/a"), None))
        .collect();
    wait_for_fetches(&site, MAX_FETCHES).await;
    let rejected = documents.find("https://more/a", None).await;
    assert!(is_rejected(&rejected));
    assert_eq!(site.count(), MAX_FETCHES);
    site.release();
    for request in requests {
        assert!(request.await.unwrap().is_ok());
    }
    assert!(documents.find("https://more/a", None).await.is_ok());
}

#[tokio::test]
async fn dropped_request_releases_its_permits() {
    let site = site().blocked();
    let documents = documents(&site);
    let waiting_request = spawn_find(&documents, "https://a/b", source("93.184.215.14"));
    wait_for_fetches(&site, 1).await;
    waiting_request.abort();
    assert!(waiting_request.await.unwrap_err().is_cancelled());
    assert!(documents.hosts.lock().is_empty() && documents.sources.lock().is_empty());
    assert_eq!(documents.fetch_permits.available_permits(), MAX_FETCHES);
}
