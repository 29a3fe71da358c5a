//! The table of routes with the terms of one operator: payment options, 402 answers and URLs.

use std::sync::Arc;

use x402_wire::{Asset, AuthorizationKey, Network, Offer};

use crate::{
    CatalogConfig, CatalogError, Offering, Operation, bazaar,
    challenge::{Challenge, ChallengePieces, Refusal},
    render::sorted_ascii_json,
};

/// Every route with its payment options. The part of its 402 answer that is the same for every
/// request is computed only once.
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
///     bazaar_in_header: false,
/// })?;
/// let challenge = catalog.challenge(Operation::MegaReport, None, "payment required", None);
/// assert!(challenge.header.len() < 3_200);
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
    bazaar: Arc<str>,
}

impl Catalog {
    /// Makes the catalog of a server that serves the whole table.
    ///
    /// # Errors
    ///
    /// [`CatalogError`] when the public URL cannot begin a resource URL.
    pub fn new(config: &CatalogConfig) -> Result<Self, CatalogError> {
        Self::offering(config, Offering::default())
    }

    /// Makes the catalog of a server that does not serve the whole table, or cannot settle every
    /// scheme. Every document marks the operations concerned, and so does their 402.
    ///
    /// # Errors
    ///
    /// The same as [`Catalog::new`].
    pub fn offering(config: &CatalogConfig, offering: Offering) -> Result<Self, CatalogError> {
        let base_url = config.base_url()?;
        let entries = Operation::ALL
            .iter()
            .map(|operation| {
                let offer = config.terms.offer(operation.route().price);
                let in_header = config.bazaar_in_header;
                let pieces =
                    ChallengePieces::new(*operation, &offer, &base_url, &offering, in_header);
                let bazaar = sorted_ascii_json(&bazaar::bazaar(operation.route())).into();
                Entry {
                    offer,
                    pieces,
                    bazaar,
                }
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

    /// Returns the payment options of an operation.
    pub fn offer(&self, operation: Operation) -> &Offer {
        &self.entry(operation).offer
    }

    /// Returns the `bazaar` extension of an operation as JSON, for facilitators that list it.
    pub fn bazaar(&self, operation: Operation) -> Arc<str> {
        Arc::clone(&self.entry(operation).bazaar)
    }

    /// Returns the 402 answer to one request. `query` is the raw query of the request target,
    /// without `?`; the resource URL repeats it only when the header stays short. `error` says why
    /// the request counts as unpaid; a long one is cut. `refusal` is a machine-readable member that
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

    /// Returns the header of [`Catalog::challenge`]. Calls with the same query and error get the
    /// same header.
    pub fn challenge_header(
        &self,
        operation: Operation,
        query: Option<&str>,
        error: &str,
    ) -> String {
        self.entry(operation).pieces.header(query, error)
    }

    /// Returns the body of [`Catalog::challenge`].
    pub fn challenge_body(
        &self,
        operation: Operation,
        query: Option<&str>,
        error: &str,
        refusal: Option<&Refusal<'_>>,
    ) -> Vec<u8> {
        let is_private = operation.is_private(query, b"");
        let pieces = &self.entry(operation).pieces;
        pieces.body(query, error, refusal, is_private)
    }

    /// Returns the URL of a request with its raw query.
    pub fn resource_url(&self, operation: Operation, query: Option<&str>) -> String {
        let (base, path) = (self.base_url.as_str(), operation.route().path);
        match query.filter(|query| !query.is_empty()) {
            Some(query) => [base, path, "?", query].concat(),
            None => [base, path].concat(),
        }
    }

    /// Returns the URL at which a caller gets the state of a payment, free of charge.
    pub fn payment_url(&self, key: &AuthorizationKey) -> String {
        let AuthorizationKey {
            asset,
            payer,
            nonce,
            ..
        } = key;
        format!("{}/payments/{asset}/{payer}/{nonce}", self.base_url)
    }

    /// Returns the public URL, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the name of the service in documents.
    pub fn brand(&self) -> &str {
        &self.brand
    }

    /// Returns the mail address or the URL of the service's operator.
    pub fn contact(&self) -> Option<&str> {
        self.contact.as_deref()
    }

    /// Returns the operations that are not served, and the schemes that cannot be settled.
    pub fn offered(&self) -> &Offering {
        &self.offering
    }

    /// Returns the accepted tokens, in the order of the payment options.
    pub fn assets(&self) -> &[Asset] {
        &self.assets
    }

    /// Returns the network of the payments in words: `X Layer (eip155:196)`.
    pub fn network_name(&self) -> String {
        match self.network.chain_id() {
            196 => format!("X Layer ({})", self.network),
            _ => self.network.to_string(),
        }
    }

    /// Returns the network of the payments.
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
