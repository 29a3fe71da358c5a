//! The operator's settings of the catalog, and the check of the public URL.

use x402_wire::Terms;

/// The configuration of a [`Catalog`](crate::Catalog).
#[derive(Debug, Clone)]
pub struct CatalogConfig {
    /// The URL at which callers reach the server, such as `https://api.example.com`. If it has a
    /// path, every route begins with it. A trailing slash is dropped.
    pub public_url: String,
    /// The name of the service in documents.
    pub brand: String,
    /// A mail address or a URL, for `info.contact` of OpenAPI.
    pub contact: Option<String>,
    /// The payment terms.
    pub terms: Terms,
    /// Whether the 402's header has `extensions.bazaar`, too. The body always has it.
    pub bazaar_in_header: bool,
}

/// Why a catalog cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The public URL does not begin with `http://` or `https://`.
    #[error("public URL: expected http:// or https:// and a host, observed {observed:?}")]
    PublicUrl {
        /// The configured text.
        observed: String,
    },
    /// The public URL has a part that would be in the middle of every resource URL, or a character
    /// that no URL can have.
    #[error("public URL: expected visible ASCII without query or fragment, observed {observed:?}")]
    PublicUrlPart {
        /// The first character that is not allowed.
        observed: char,
    },
}

impl CatalogError {
    /// Returns the stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::PublicUrl { .. } => "public_url_invalid",
            Self::PublicUrlPart { .. } => "public_url_part_invalid",
        }
    }
}

impl CatalogConfig {
    /// Checks the public URL and returns it without a trailing slash.
    pub(crate) fn base_url(&self) -> Result<String, CatalogError> {
        let url = self.public_url.as_str();
        let allowed = |c: &char| c.is_ascii_graphic() && !"?#\"\\<>^`{|}@".contains(*c);
        if let Some(observed) = url.chars().find(|c| !allowed(c)) {
            return Err(CatalogError::PublicUrlPart { observed });
        }
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        match rest {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') => {
                Ok(url.trim_end_matches('/').to_owned())
            }
            _ => Err(CatalogError::PublicUrl {
                observed: self.public_url.clone(),
            }),
        }
    }
}
