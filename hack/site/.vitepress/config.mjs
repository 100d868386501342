// The site of the documents: every Markdown file of the repository is a page, at its path.
// SITE_VERSION names the tag or commit whose files the pages link to; the site lives in a
// folder of that name, so that each release keeps its own pages. `make site` builds it in bin/site,
// beside copies of the pages.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const version = process.env.SITE_VERSION
if (!version) throw new Error('SITE_VERSION names no tag or commit')
const repository = 'https://github.com/acclaim-dev/acclaim'

// The README's table of pages is the sidebar: a row is a group, its links are the pages.
const table = readFileSync(join(root, 'README.md'), 'utf8').match(/^## Pages\n([^]*?)\n\n\w/m)[1]
const sidebar = table.split('\n').filter(row => /^\| \d/.test(row)).map(row => {
  const [first, ...others] = [...row.matchAll(/\[([^\]]+)\]\(([^)]+\.md)\)/g)].map(([, text, file]) => ({ text, link: '/' + page(file) }))
  if (row.startsWith('| 1. ')) return { text: row.match(/^\| \d+\. ([^|]+) \|/)[1], link: '/', items: [first, ...others].map(upperCased), collapsed: true }
  return { text: first.text, link: first.link, items: others.map(upperCased), collapsed: true }
})

function upperCased(item) {
  return { ...item, text: item.text[0].toUpperCase() + item.text.slice(1) }
}

function page(file) {
  return file.replace(/(^|\/)README\.md$/, '$1index.md')
}

// Links to files that are no pages lead to the repository, as on its own site.
function linkFiles(md) {
  const render = md.renderer.rules.link_open
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href')
    if (!/^([a-z]+:|#|\/)/.test(href)) {
      const [path, fragment] = href.split('#')
      const file = normalize(join(dirname(env.relativePath), path))
      if (!file.endsWith('.md') && existsSync(join(root, file))) {
        tokens[i].attrSet('href', `${repository}/blob/${version}/${file}${fragment ? '#' + fragment : ''}`)
      }
    }
    return render(tokens, i, options, env, self)
  }
}

export default {
  title: 'Acclaim',
  description: 'Votes, answers and rankings for the viewers of a live stream, on your own servers',
  lang: 'en',
  base: `/acclaim/${version}/`,
  srcDir: 'pages',
  outDir: join('dist/acclaim', version),
  rewrites: page,
  markdown: { config: linkFiles },
  themeConfig: {
    sidebar,
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Your first extension', link: '/services/docs/first-extension' },
      { text: 'API', link: '/api/reference' },
      { text: version, link: '/CHANGELOG' },
    ],
  },
}
