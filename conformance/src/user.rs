//! A user with a browser: opens a page, consents and follows redirects.

use std::collections::BTreeMap;

use toolwire_auth::testing::form;

use crate::Problem;
use crate::plain_http::{Post, resolved, send};

/// The number of redirects after which the login fails.
const MAX_REDIRECTS: usize = 10;

/// A user who consents.
#[derive(Debug, Default)]
pub(crate) struct User {
    cookies: BTreeMap<String, String>,
}

/// The next step of the browser.
enum Next {
    Redirect(String),
    Page(String),
}

impl User {
    /// Opens a URL, consents, and follows redirects until the login ends.
    pub(crate) async fn log_in(mut self, url: &str) -> Result<(), Problem> {
        let mut request = (url.to_owned(), None);
        for _ in 0..MAX_REDIRECTS {
            let (url, form) = request;
            request = match self.open(&url, form.as_deref()).await? {
                Next::Redirect(next) => (next, None),
                Next::Page(page) => match consent_form(&page) {
                    Some((action, form)) => (resolved(&url, &action), Some(form)),
                    None => return Ok(()),
                },
            };
        }
        Err(Problem::new("the login has too many redirects"))
    }

    async fn open(&mut self, url: &str, form: Option<&str>) -> Result<Next, Problem> {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let post = form.map(|body| Post {
            content_type: "application/x-www-form-urlencoded",
            body,
        });
        let response = send(url, &cookies.join("; "), post).await?;
        for cookie in response.headers("set-cookie") {
            let pair = cookie.split(';').next();
            let pair = pair.and_then(|pair| pair.split_once('='));
            let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
            self.cookies.extend(pair);
        }
        if let Some(next) = response.headers("location").next() {
            return Ok(Next::Redirect(resolved(url, next)));
        }
        if response.is_ok() {
            Ok(Next::Page(response.body().to_owned()))
        } else {
            Err(Problem::new(format!("a page does not open: {response}")))
        }
    }
}

/// Returns the target of a page's form and the fields that grant consent.
fn consent_form(page: &str) -> Option<(String, String)> {
    let action = between(page, "<form method=\"post\" action=\"")?;
    let request = between(page, "name=\"request\" value=\"")?;
    let fields = form::encode([("request", request), ("decision", "allow")]);
    Some((action.to_owned(), fields))
}

fn between<'a>(page: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(start)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_form_exists_only_on_a_consent_page() {
        let page = r#"<form method="post" action="/consent"><input name="request" value="a.b">"#;
        let expected = (
            "/consent".to_owned(),
            "request=a.b&decision=allow".to_owned(),
        );
        assert_eq!(consent_form(page), Some(expected));
        assert_eq!(consent_form("OK. You can close this page."), None);
    }
}
