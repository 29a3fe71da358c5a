//! Actions on embedded chains.
