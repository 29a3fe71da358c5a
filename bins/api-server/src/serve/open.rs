//! Opens the parts of a configuration: stores, settler, custody, upstreams, fence and actions. It
//! also starts what an earlier process left open. [`ApiServer::run`] serves.

use std::path::Path;
use std::sync::Arc;

use custody::{
    Bounded, Custody, CustodyError, Guarded, LocalCustody, RecordedCustody, SigningPolicy,
    WalletFaults,
};
use custody_turnkey::TurnkeyCustody;
use data_sources::{Clock, SystemClock};
use gas_funding::GasFunding;
use ledger::AnyLedger;
use route_catalog::{Catalog, CatalogConfig, CatalogError, Offering};
use settlement::AnySettler;
use tx_sender::TransactionSigner;
use x402_wire::Terms;

use super::settler::{check_key, check_signer, settlement_config};
use super::stores::{Stores, Transactions};
use super::{ApiServer, Parts};
use crate::Sources;
use crate::config::{Config, Problem};
use crate::delegation::{self, Routes};
use crate::error::ServeError;
use crate::observe;
use crate::offering::offering;
use crate::signing;
use crate::wallets::{self, Sending};

impl ApiServer<AnySettler, AnyLedger> {
    /// Opens the parts of a configuration, and listens.
    ///
    /// # Errors
    /// A [`ServeError`] that names the key. An unreachable facilitator, broker or RPC is not an
    /// error.
    pub async fn open(config: &Config) -> Result<Self, ServeError> {
        Self::open_at(config, Arc::new(SystemClock)).await
    }

    /// Like [`Self::open`], with the program's own signer: settlement is `onchain`, the
    /// configuration names no key, and `settlement.gas_account` is the signer's account.
    ///
    /// # Errors
    /// As [`Self::open`], and [`ServeError::Signer`].
    pub async fn open_signed_by(
        config: &Config,
        signer: Arc<dyn TransactionSigner>,
    ) -> Result<Self, ServeError> {
        check_signer(&config.settlement, signer.account())?;
        let signer = Some(signer);
        Box::pin(Self::open_as(config, signer, Arc::new(SystemClock))).await
    }

    /// Like [`Self::open`], with a separate clock for the data: recorded answers belong to the time
    /// of their recording.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_at(config: &Config, data_clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        check_key(&config.settlement)?;
        Box::pin(Self::open_as(config, None, data_clock)).await
    }

    /// This future is large. Callers box it so that their own futures and stack frames stay small.
    async fn open_as(
        config: &Config,
        signer: Option<Arc<dyn TransactionSigner>>,
        data_clock: Arc<dyn Clock>,
    ) -> Result<Self, ServeError> {
        let terms = config.payment.terms().ok_or(ServeError::NoPayee)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        // Reading the system's certificates takes longer than everything else, and each client
        // reads them.
        let sources = {
            let config = config.clone();
            tokio::task::spawn_blocking(move || Sources::connect(&config, data_clock))
        };
        let stores = Stores::at(config)?;
        let journal = stores.ledger(config).await?;
        let store = stores.server(config).await?;
        // The settler creates its series from here on.
        observe::METRICS.install();
        observe::count_tolerated_of(Sources::specs().into_iter().map(|spec| spec.name));
        let settler = open_settler(config, &stores, signer, &terms).await?;
        // The list is read even without custody, so that an unusable list is always reported.
        let policy = signing::policy(config)?;
        let custody = open_custody(config, &stores, policy.clone()).await?;
        let (custody, faults) = custody.unzip();
        let paid = journal.paid_sums();
        let sources = sources.await.map_err(ServeError::Interrupted)??;
        let sources = wallets::with_products(sources, config, &policy)?;
        let keys = custody.as_ref();
        let routes = Routes::new(config, keys)?;
        let sources = match keys {
            Some(custody) => sources.with_custody(Arc::clone(custody)),
            None => sources,
        };
        let sources = sources.with_wallet_faults(faults);
        let sources = sources.with_store(Arc::new(store));
        let sources = sources.with_mandates(stores.mandates().await?);
        sources.keep_limits().await;
        let worth = sources.worth.clone();
        let delegations = delegation::open(config, &stores, &routes, worth, clock.clone()).await?;
        let fence = delegation::chain_to_send_on(delegations.as_ref(), &routes).await?;
        let sending = Sending::open(config, &stores, fence).await?;
        let funding = match &sending {
            Some(sending) => sending.funding(config, &sources, paid, &clock).await?,
            None => GasFunding::none(),
        };
        let sendings = match (&delegations, &config.delegation, &sending) {
            (Some(delegations), Some(section), Some(sending)) if fence.is_some() => {
                let start = delegation::start;
                Some(start(
                    config,
                    section,
                    delegations,
                    routes,
                    sending,
                    funding.clone(),
                    &clock,
                )?)
            }
            _ => None,
        };
        let actions = match (&custody, &sending) {
            (Some(custody), Some(sending)) => {
                let opened =
                    wallets::open(config, custody, &policy, sending, &sources, funding, &clock);
                opened.await?
            }
            _ => None,
        };
        let sources = sources.with_actions(actions);
        let parts = Parts {
            settler,
            journal,
            sources,
            clock,
        };
        let service = Self::compose(config, &terms, parts).await?;
        let mover = wallets::mover(&service.sources, sending);
        let service = match mover {
            Some(mover) => service.with_mover(Arc::new(mover)),
            None => service,
        };
        Ok(match (delegations, &config.delegation) {
            (Some(delegations), Some(section)) => {
                let mut service = service.with_delegations(delegations, section);
                service.sendings = sendings;
                service
            }
            _ => service,
        })
    }
}

/// Opens the settler. The records of its own transactions are beside the ledger, which this server
/// has locked.
pub(super) async fn open_settler(
    config: &Config,
    stores: &Stores,
    signer: Option<Arc<dyn TransactionSigner>>,
    terms: &Terms,
) -> Result<AnySettler, ServeError> {
    let mut settlement = settlement_config(config);
    settlement.signer = signer.or(settlement.signer);
    if settlement.mode == settlement::Mode::Onchain {
        settlement.records = Some(stores.transactions(Transactions::Settlement).await?);
        settlement.sender = stores.sender_options(config);
    }
    Ok(AnySettler::connect(settlement, terms).await?)
}

/// Opens the custodian of sub-wallets' keys, guarded by the signing policy, and the faults of its
/// files. A wrong secret, or an empty folder although wallets are recorded, fails the start.
async fn open_custody(
    config: &Config,
    stores: &Stores,
    policy: SigningPolicy,
) -> Result<Option<(Arc<dyn Custody>, WalletFaults)>, ServeError> {
    let Some(section) = &config.custody else {
        return Ok(None);
    };
    if let Some(turnkey) = section.turnkey() {
        // Connecting reads the system's certificates, which takes a moment. It sends no request, so
        // a custodian that is down does not fail the start.
        let connected =
            tokio::task::spawn_blocking(move || TurnkeyCustody::connect(&turnkey)).await;
        let connected = connected
            .map_err(ServeError::Interrupted)?
            .map_err(|fault| {
                let key = format!("custody.{}", fault.member());
                ServeError::Provider(Problem::new(&key, fault.to_string()))
            })?;
        let bounded = Bounded::new(connected, section.bounds());
        let guarded = Arc::new(Guarded::new(bounded, policy));
        return Ok(Some((guarded, WalletFaults::default())));
    }
    let (Some(folder), Some(secret)) = (section.directory.clone(), section.secret.clone()) else {
        return Err(ServeError::Custody(CustodyError::EmptySecret));
    };
    let open = move |folder: &Path| LocalCustody::open(folder, secret);
    let custody = RecordedCustody::open(&folder, stores.wallets().await?, open).await;
    let custody = custody.map_err(ServeError::Custody)?;
    let faults = custody.faults();
    // Only the guard reaches the keys.
    let bounded = Bounded::new(custody, section.bounds());
    Ok(Some((Arc::new(Guarded::new(bounded, policy)), faults)))
}

/// Makes the checks of [`ApiServer::open`] that need nothing opened. Returns the payment terms and
/// the parts that would not be served.
///
/// # Errors
/// A [`ServeError`] that names the key.
pub(crate) fn check(config: &Config) -> Result<(Terms, Offering), ServeError> {
    check_key(&config.settlement)?;
    let terms = config.payment.terms().ok_or(ServeError::NoPayee)?;
    catalog(config, &terms)?;
    let policy = signing::policy(config)?;
    Routes::new(config, None)?;
    let sources = Sources::connect(config, Arc::new(SystemClock))?;
    let sources = wallets::with_products(sources, config, &policy)?;
    Ok((terms, offering(config, &sources)))
}

/// The catalog of a configuration that is not served.
pub(super) fn catalog(config: &Config, terms: &Terms) -> Result<Catalog, CatalogError> {
    let public_url = config.server.public_url.clone();
    Catalog::new(&CatalogConfig {
        public_url: public_url.unwrap_or_else(|| format!("http://{}", config.listen())),
        brand: config.server.brand.clone(),
        contact: config.server.contact.clone(),
        terms: terms.clone(),
        bazaar_in_header: config.payment.bazaar_in_header,
    })
}
