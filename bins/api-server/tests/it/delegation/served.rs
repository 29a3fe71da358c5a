//! A server for the tests of `/delegation/`, over a store and a clock of the test.

use std::net::SocketAddr;
use std::sync::Arc;

use api_server::config::{Config, DelegationSection, SettlementMode};
use api_server::{ApiServer, ServeError};
use fence_server::{Delegations, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::delegation::onchain::{Node, delegated_desk};
use crate::delegation::world::{Clock, Custody, desk};

pub(crate) struct Served {
    pub(crate) clock: Clock,
    pub(crate) custody: Custody,
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn Store>,
    client: reqwest::Client,
    _folder: TempDir,
    _stop: oneshot::Sender<()>,
}

/// A response of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the code of an error. Asserts that the error has the members that every error
    /// has.
    pub(crate) fn error(&self) -> (u16, String) {
        let body = self.json();
        let error = &body["error"];
        assert_eq!(error["charged"], false, "{self:?}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert!(error["request_id"].is_string());
        assert_eq!(error["retryable"], self.status == 503 || self.status == 429);
        assert_eq!(
            self.headers.contains_key("retry-after"),
            self.status == 503 || self.status == 429
        );
        assert_eq!(self.headers["cache-control"], "no-store");
        (self.status, error["code"].as_str().unwrap().to_owned())
    }

    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}

/// A configuration with which the server makes no request to the outside.
pub(crate) fn config(folder: &TempDir) -> Config {
    let mut config = Config::default();
    config.server.listen = Some(([127, 0, 0, 1], 0).into());
    config.server.probe_hours = 0;
    config.server.client_address_header = Some("x-forwarded-for".to_owned());
    config.payment.pay_to = Some(dev_chain::PAYEE.address.into());
    config.settlement.mode = SettlementMode::Facilitator;
    config.settlement.facilitator_url = Some("http://127.0.0.1:9".to_owned());
    let url = format!("sqlite://{}", folder.path().join("service.db").display());
    config.storage.url = Some(url.into());
    config
}

impl Served {
    pub(crate) async fn new() -> Self {
        Self::with(DelegationSection::default(), Clock::new()).await
    }

    pub(crate) async fn with(section: DelegationSection, clock: Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.fence.db");
        let store = fence_server::SqliteStore::open(path).unwrap();
        Self::over(Arc::new(store), section, clock, folder).await
    }

    pub(crate) async fn over(
        store: Arc<dyn Store>,
        section: DelegationSection,
        clock: Clock,
        folder: TempDir,
    ) -> Self {
        let custody = Custody::new();
        let delegations = desk(Arc::clone(&store), 1, &clock, &custody).await;
        Self::serving(store, section, clock, custody, delegations, folder).await
    }

    /// Starts a server that redeems delegations on the chain of a test.
    pub(crate) async fn delegated(node: &Node) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.fence.db");
        let store: Arc<dyn Store> = Arc::new(fence_server::SqliteStore::open(path).unwrap());
        let (clock, custody) = (Clock::new(), Custody::delegated());
        let delegations = delegated_desk(Arc::clone(&store), &clock, &custody, node).await;
        let section = DelegationSection::default();
        Self::serving(store, section, clock, custody, delegations, folder).await
    }

    async fn serving(
        store: Arc<dyn Store>,
        section: DelegationSection,
        clock: Clock,
        custody: Custody,
        delegations: Delegations,
        folder: TempDir,
    ) -> Self {
        let service = serve(&config(&folder), delegations, &section)
            .await
            .unwrap();
        let address = service.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(service.run(async move {
            drop(stopped.await);
        }));
        Self {
            clock,
            custody,
            address,
            store,
            client: test_support::http_client(),
            _folder: folder,
            _stop: stop,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        Answer {
            status,
            headers,
            text,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.client.get(self.url(path))).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> Answer {
        self.send(self.client.post(self.url(path)).body(body.into()))
            .await
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, self.url(path))
    }
}

async fn serve(
    config: &Config,
    delegations: Delegations,
    section: &DelegationSection,
) -> Result<ApiServer<settlement::AnySettler, ledger::AnyLedger>, ServeError> {
    let service = ApiServer::open(config).await?;
    Ok(service.with_delegations(Arc::new(delegations), section))
}

/// A submission's body.
pub(crate) fn body(ordered: &fence_server::Ordered, dry_run: Option<bool>) -> Value {
    let signed: Value = serde_json::from_str(&ordered.order.to_json()).unwrap();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut body = json!({
        "account": ordered.account.to_string(),
        "grant_id": ordered.grant_id.to_string(),
        "request": parsed(&ordered.request),
        "envelope": parsed(&ordered.envelope),
        "order": signed["typed_data"],
        "signature": signed["signature"],
    });
    if let Some(dry_run) = dry_run {
        body["dry_run"] = dry_run.into();
    }
    body
}
