/** A token format: its prefixes, and a pattern for the rest. */
export interface TokenFormat {
  prefixes: readonly string[];
  /** Sticky. */
  rest: RegExp;
}

/**
 * Token formats with a recognizable prefix of at least three characters, as listed by secret scanners
 * (gitleaks, secretlint).
 *
 * Repetitions are bounded, since a long match would exhaust the stack of the regular expression engine. None
 * of them can backtrack far, so the time is linear in the length of the text.
 */
export const tokenFormats: readonly TokenFormat[] = [
  // GitLab
  form(
    'glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glffct- glsoat- glwt-',
    /[\w-]{20,512}(?:\.[\w-]{2,64}){0,3}/y,
  ),
  form('GR1348941', /[\w-]{20,64}/y),
  // Atlassian, Bitbucket
  form('ATATT ATCTT ATBB ATOA', /[\w=-]{24,512}/y),
  form('BBDC-', /[\w+/@=-]{40,128}/y),
  // Amazon, Alibaba, Google, Azure
  form('A3T AKIA ASIA ABIA ACCA', /[A-Z\d]{16,17}(?![A-Za-z\d])/y),
  form('ABSK', /[\w+/=]{100,300}/y),
  form('LTAI', /[A-Za-z\d]{20}(?![A-Za-z\d])/y),
  form('AIza', /[\w-]{35}/y),
  form('ya29.', /[\w-]{20,2048}/y),
  form('GOCSPX-', /[\w-]{20,64}/y),
  form('1//0', /[\w-]{30,256}/y),
  // A signed or encrypted JSON Web Token
  form('eyJ', /[\w-]{8,8192}\.[\w-]{0,16384}\.[\w-]{0,8192}(?:\.[\w-]{0,16384}\.[\w-]{0,256})?/y),
  // Slack, Twilio, Messagebird
  form(
    'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxb- xoxe.xoxp- xapp-',
    /[\w-]{10,512}/y,
  ),
  form(hexadecimal('SK'), /[\da-f]{31}(?![A-Za-z\d])/y),
  // Stripe, Clerk, Square, Shopify, EasyPost, Flutterwave, Shippo
  form('sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_', /\w{10,512}/y),
  form('whsec_', /[\w+/=-]{20,512}/y),
  form('sq0atp- sq0csp-', /[\w-]{22,64}/y),
  form('EAAA', /[\w-]{60}(?![\w-])/y),
  form('shpat_ shpca_ shppa_ shpss_ shptka_', /[\dA-Fa-f]{32}/y),
  form('EZAK EZTK', /[A-Za-z\d]{54}/y),
  form('FLWSECK- FLWSECK_TEST-', /[A-Za-z\d]{12,64}/y),
  form('shippo_live_ shippo_test_', /[\da-f]{40}/y),
  // Mail: Resend, SendGrid, Brevo, Mailgun, MailerSend
  form('re_', /[A-Za-z\d]{6,16}_[A-Za-z\d]{16,64}/y),
  form('SG.', /[\w-]{16,64}\.[\w-]{16,128}/y),
  form('xkeysib-', /[\da-f]{64}-[A-Za-z\d]{16}/y),
  form('key-', /[\da-f]{32}(?![A-Za-z\d])/y),
  form('mlsn.', /[\da-f]{64}/y),
  // Package and image registries
  form('npm_', /[A-Za-z\d]{36}/y),
  form('pypi-Ag', /[\w-]{40,2048}/y),
  form('rubygems_', /[\da-f]{48}/y),
  form('CLOJARS_ clojars_', /[A-Za-z\d]{60}/y),
  form('oy2', /[a-z\d]{43}(?![A-Za-z\d])/y),
  form('cio', /[A-Za-z\d]{32}(?![A-Za-z\d])/y),
  form('dckr_pat_ dckr_oat_', /[\w-]{20,256}/y),
  form('AKCp', /[A-Za-z\d]{69}/y),
  form('cmVmd', /[A-Za-z\d]{59}(?![A-Za-z\d+/=])/y),
  // Models
  form('sk-', /[\w-]{8,8192}/y),
  form('hf_ api_org_', /[A-Za-z\d]{30,64}(?![A-Za-z\d])/y),
  // Without hyphens, to exclude names such as `csk-app-server-…`.
  form('xai- pplx- csk-', /\w{32,256}/y),
  form('nvapi-', /[\w-]{60,256}/y),
  form('gsk_ jina_ pcsk_ tgp_v1_', /[\w-]{32,256}/y),
  form('tvly-', /[\w-]{28,64}/y),
  form('fc-', /[\da-f]{32}(?![A-Za-z\d])/y),
  form('waka_', /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/y),
  form('r8_ fw_', /[A-Za-z\d]{20,64}/y),
  form('lsv2_pt_ lsv2_sk_', /[\da-f]{32}_[\da-f]{10}/y),
  // Hosts and platforms
  form('doo_v1_ dop_v1_ dor_v1_', /[\da-f]{64}/y),
  form('HRKU-', /[\w-]{36,128}/y),
  form('fo1_', /[\w-]{40,128}/y),
  form('fm1a_ fm1r_ fm2_', /[\w+/=-]{60,2048}/y),
  form('nfp_ vcp_ vci_ vca_ vcr_ vck_ napi_ sbp_ sb_secret_', /[\w-]{24,256}/y),
  form('v1.0-', /[\da-f]{24}-[\da-f]{100,160}/y),
  form('pscale_tkn_ pscale_oauth_ pscale_pw_', /[\w=.-]{32,128}/y),
  form('dapi', /[\da-f]{32}(?![A-Za-z\d])/y),
  form('dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.', /[\w.-]{40,128}/y),
  form('hvs. hvb. hvr.', /[\w-]{24,512}/y),
  form('pul-', /[\da-f]{40}/y),
  form('tskey-', /[a-z]{2,16}-[\w-]{16,128}/y),
  form('sha256~', /[\w-]{43}/y),
  form('ops_eyJ', /[\w+/=-]{100,4096}/y),
  form('A3-', /[A-Z\d]{6}(?:-[A-Z\d]{5,11}){4,5}/y),
  form('p8e-', /[A-Za-z\d]{32}/y),
  form('dnkey-', /[a-z\d=_-]{26}-[a-z\d=_-]{52}/y),
  form('API-', /[A-Z\d]{25,36}(?![A-Za-z\d])/y),
  form('AQVN', /[\w-]{35,38}(?![\w-])/y),
  form('ico- tk-us-', /[\w-]{32,64}/y),
  form('s-s4t2ud- s-s4t2af-', /[\da-f]{64}/y),
  form('oauth:', /[a-z\d]{30}(?![A-Za-z\d])/y),
  form('fio-u-', /[\w=-]{64}/y),
  form('aio_ rnd_ rpa_', /[A-Za-z\d]{28,48}(?![A-Za-z\d])/y),
  form('dt0c01. dt0s01. dt0s16.', /[A-Z\d]{24}\.[A-Z\d]{64}/y),
  form('sl.', /[\w-]{100,2048}/y),
  // Hashes of passwords
  form('{SSHA} {SHA} {SMD5} {SSHA256} {SSHA512}', /[+/A-Za-z\d]{24,128}={0,2}/y),
  form('$2a$ $2b$ $2y$', /\d\d\$[./A-Za-z\d]{53}/y),
  form('$1$ $apr1$ $5$ $6$', /(?:rounds=\d{1,9}\$)?[./A-Za-z\d]{1,16}\$[./A-Za-z\d]{22,86}/y),
  form('$y$ $7$ $gy$', /[./A-Za-z\d]{1,16}\$[./A-Za-z\d]{1,86}\$[./A-Za-z\d]{43}/y),
  form(
    '$argon2i$ $argon2d$ $argon2id$',
    /[\w=,$]{1,64}\$[+/A-Za-z\d]{8,128}\$[+/A-Za-z\d]{16,256}/y,
  ),
  // Issue trackers, monitoring, CI
  form('lin_api_ lin_oauth_', /[A-Za-z\d]{32,64}/y),
  form('tk_', /[a-z\d]{29}(?![A-Za-z\d])/y),
  form('ntn_', /[A-Za-z\d]{40,64}/y),
  form('secret_', /[A-Za-z\d]{43}(?![A-Za-z\d])/y),
  form('pat', /[A-Za-z\d]{14}\.[\da-f]{64}/y),
  form('figd_ figo_ figu_ figr_', /[\w-]{40,128}/y),
  form('PMAK-', /[\da-f]{24}-[\da-f]{34}/y),
  form('glc_', /[\w+/=-]{32,512}/y),
  form('glsa_', /[A-Za-z\d]{32}_[\dA-Fa-f]{8}/y),
  form('sntrys_ sntryu_', /[\w+/=-]{32,512}/y),
  form('NRAK- NRII- NRJS- NRRA-', /[\w-]{19,64}/y),
  form(
    'sgp_ rdme_ pnu_ tfp_ bkua_ bkaj_ CCIPAT_ squ_ sqp_ sqa_ phx_ duffel_test_ duffel_live_ CFPAT-',
    /[\w.=-]{32,128}/y,
  ),
  form('sm_aat_ sm_pat_ sm_sat_', /[A-Za-z\d]{16}/y),
  form('pat. sat.', /[\w-]{22}\.[A-Za-z\d]{24}\.[A-Za-z\d]{20}/y),
  form('EAAC EAAM', /[A-Za-z\d]{90,512}/y),
  // age
  form('AGE-SECRET-KEY- AGE-PLUGIN-', /[A-Z\d-]{20,128}/y),
];

function form(prefixes: string, rest: RegExp): TokenFormat {
  return { prefixes: prefixes.split(' '), rest };
}

/** A prefix of two characters followed by each hexadecimal digit. */
function hexadecimal(prefix: string): string {
  return [...'0123456789abcdef'].map((digit) => prefix + digit).join(' ');
}
