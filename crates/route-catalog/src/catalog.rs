//! The table, rendered under one operator's terms.

use x402_wire::{Asset, AuthorizationKey, Network, Offer};

use crate::{
    CatalogConfig, CatalogError, Offering, Operation,
    challenge::{Challenge, ChallengePieces, Refusal},
};

/// The longest query that a resource URL repeats, in bytes.
pub const MAX_RESOURCE_QUERY_BYTES: usize = 1024;

/// Every route with its payment options, and the part of its 402 answer that is the same for every
/// request, computed once.
///
/// ```
/// use alloy_primitives::address;
/// use route_catalog::{Catalog, CatalogConfig, Operation};
/// use x402_wire::{Asset, Network, Terms};
///
/// let catalog = Catalog::new(&CatalogConfig {
///     public_url: "https://api.example.com".into(),
///     brand: "svc".into(),
///     contact: None,
///     terms: Terms {
///         network: Network::evm(196),
///         pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
///         max_timeout_seconds: 300,
///         assets: Asset::chain_196().to_vec(),
///     },
/// })?;
/// let challenge = catalog.challenge(Operation::MegaReport, None, "payment required", None);
/// assert!(challenge.header.len() < 8_000);
/// assert!(challenge.body.starts_with(br#"{"x402Version":2,"accepts":["#));
/// # Ok::<(), route_catalog::CatalogError>(())
/// ```
#[derive(Debug)]
pub struct Catalog {
    base_url: String,
    brand: String,
    contact: Option<String>,
    network: Network,
    assets: Vec<Asset>,
    offering: Offering,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    offer: Offer,
    pieces: ChallengePieces,
}

impl Catalog {
    /// Renders the table for a server that serves all of it.
    ///
    /// # Errors
    ///
    /// [`CatalogError`] when the public URL cannot begin a resource URL.
    pub fn new(config: &CatalogConfig) -> Result<Self, CatalogError> {
        Self::offering(config, Offering::default())
    }

    /// Renders the table for a server that does not serve all of it, or cannot settle every scheme.
    /// Every document marks the operations concerned, and so does their 402.
    ///
    /// # Errors
    ///
    /// As [`Catalog::new`].
    pub fn offering(config: &CatalogConfig, offering: Offering) -> Result<Self, CatalogError> {
        let base_url = config.base_url()?;
        let entries = Operation::ALL
            .iter()
            .map(|operation| {
                let offer = config.terms.offer(operation.route().price);
                let pieces = ChallengePieces::new(*operation, &offer, &base_url, &offering);
                Entry { offer, pieces }
            })
            .collect();
        Ok(Self {
            base_url,
            brand: config.brand.clone(),
            contact: config.contact.clone(),
            network: config.terms.network,
            assets: config.terms.assets.clone(),
            offering,
            entries,
        })
    }

    /// The payment options of an operation.
    pub fn offer(&self, operation: Operation) -> &Offer {
        &self.entry(operation).offer
    }

    /// The 402 answer to one request. `query` is the raw query of the request target, without `?`;
    /// `error` says why the request was not paid; `refusal` is the machine-readable member that
    /// only the body has.
    pub fn challenge(
        &self,
        operation: Operation,
        query: Option<&str>,
        error: &str,
        refusal: Option<&Refusal<'_>>,
    ) -> Challenge {
        Challenge {
            header: self.challenge_header(operation, query, error),
            body: self.challenge_body(operation, query, error, refusal),
        }
    }

    /// The header of [`Catalog::challenge`]. It is the same for every call with the same query and
    /// error.
    pub fn challenge_header(
        &self,
        operation: Operation,
        query: Option<&str>,
        error: &str,
    ) -> String {
        self.entry(operation)
            .pieces
            .header(resource_query(query), error)
    }

    /// The body of [`Catalog::challenge`].
    pub fn challenge_body(
        &self,
        operation: Operation,
        query: Option<&str>,
        error: &str,
        refusal: Option<&Refusal<'_>>,
    ) -> Vec<u8> {
        self.entry(operation)
            .pieces
            .body(resource_query(query), error, refusal)
    }

    /// The URL of a resource in [`Catalog::challenge`]: with the raw query when that has at most
    /// [`MAX_RESOURCE_QUERY_BYTES`], otherwise without it.
    pub fn resource_url(&self, operation: Operation, query: Option<&str>) -> String {
        let (base, path) = (self.base_url.as_str(), operation.route().path);
        match resource_query(query) {
            Some(query) => [base, path, "?", query].concat(),
            None => [base, path].concat(),
        }
    }

    /// The free URL of a payment's state.
    pub fn payment_url(&self, key: &AuthorizationKey) -> String {
        let AuthorizationKey {
            asset,
            payer,
            nonce,
            ..
        } = key;
        format!("{}/payments/{asset}/{payer}/{nonce}", self.base_url)
    }

    /// The public URL, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The name of the service in documents.
    pub fn brand(&self) -> &str {
        &self.brand
    }

    /// A mail address or URL of the service's operator.
    pub fn contact(&self) -> Option<&str> {
        self.contact.as_deref()
    }

    /// The operations that are not served, and the schemes that cannot be settled.
    pub fn offered(&self) -> &Offering {
        &self.offering
    }

    /// The accepted tokens, in the order of the options.
    pub fn assets(&self) -> &[Asset] {
        &self.assets
    }

    /// The network of the payments, in words: `X Layer (eip155:196)`.
    pub fn network_name(&self) -> String {
        match self.network.chain_id() {
            196 => format!("X Layer ({})", self.network),
            _ => self.network.to_string(),
        }
    }

    /// The network of the payments.
    pub fn network(&self) -> Network {
        self.network
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::as_conversions,
        reason = "one entry was made for each variant, in the order of the enumeration"
    )]
    fn entry(&self, operation: Operation) -> &Entry {
        &self.entries[operation as usize]
    }
}

fn resource_query(query: Option<&str>) -> Option<&str> {
    query.filter(|query| (1..=MAX_RESOURCE_QUERY_BYTES).contains(&query.len()))
}
